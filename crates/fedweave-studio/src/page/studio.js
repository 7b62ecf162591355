// The page of the studio. It keeps nothing: what is open, chosen, running and found is the server's, and comes as one state whenever it
// changes, to every tab. Texts are only ever set as textContent; fragments of reports come from the server's own templates.
import { asked, showAttack } from '/attack.js';

const byId = (id) => document.getElementById('s-' + id);
document.documentElement.classList.add('scripted');

let state = null;
let said = '';          // the settings that the form shows
let opened = '';        // the table that the form shows
let drawn = -1;         // the picture that is shown
let drawing = false;
let report = null;      // the script of the report that is shown
let sliding = false;    // lambda is on its way
let wanted = null;      // where lambda is to go next

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

async function ask(path, body, options = {}) {
  const answer = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}), ...options })
    .catch(() => null);
  if (!answer) { byId('gone').hidden = false; return null; }
  const data = await answer.json().catch(() => ({ error: `refused (${answer.status})` }));
  if (data.error) complain(data.error);
  return answer.ok ? data : null;
}

function complain(words) {
  byId('problem').hidden = !words;
  byId('problem').textContent = words || '';
}

const short = (x) => (x === null || x === undefined ? '–' : Number(x.toPrecision(4)).toString());

/* ---- the form ---- */

function fill(select, names, chosen, first) {
  const options = names.map((name) => new Option(name, name, false, name === chosen));
  select.replaceChildren(...(first === undefined ? [] : [new Option(first, '')]), ...options);
  if (chosen !== undefined && chosen !== null) select.value = chosen;
}

function about(column) {
  const missing = column.missing ? `, ${column.missing} missing` : '';
  return (column.range ? `${short(column.range[0])} to ${short(column.range[1])}` : `${column.distinct} ${column.distinct === 1 ? 'value' : 'values'}`) + missing;
}

function showForm() {
  const { table, settings } = state;
  const names = table.columns.map((column) => column.name);
  const numbers = table.columns.filter((column) => column.number).map((column) => column.name);
  fill(byId('node'), names, settings.node);
  fill(byId('target'), names, settings.target);
  const features = new Set([...(settings.features || []), ...(settings['one-hot'] || [])]);
  byId('features').replaceChildren(...table.columns.map((column) => {
    const box = element('input');
    Object.assign(box, { type: 'checkbox', checked: features.has(column.name), value: column.name });
    box.dataset.number = column.number;
    const label = element('label', '', '');
    label.append(box, element('span', '', column.name), element('span', 'about', about(column)));
    const item = element('li');
    item.append(label);
    item.hidden = [settings.node, settings.target].includes(column.name);
    return item;
  }));
  byId('missing').value = settings.missing || 'error';
  byId('standardize').checked = Boolean(settings.standardize);
  byId('edges').value = settings.graph === 'learn' ? 'learn' : settings.knn ? 'knn' : state.edges ? 'file' : byId('edges').value === 'file' ? 'file' : 'none';
  byId('k').value = settings.knn || 5;
  byId('degree').value = settings.degree || 4;
  byId('discrepancy').value = settings.discrepancy || '';
  const by = settings.by || [];
  fill(byId('by-1'), numbers, by[0] || numbers[0]);
  fill(byId('by-2'), numbers, by[1] || numbers[1] || numbers[0]);
  byId('edge-name').textContent = state.edges ? `${state.edges} is used` : 'no file yet';
  byId('coupling').value = settings.coupling || 'given';
  byId('penalty').value = settings.penalty || 'norm2';
  byId('loss').value = settings.loss || 'squared';
  byId('calibrate').checked = Boolean(settings.calibrate);
  byId('epsilon').value = settings['dp-epsilon'] === undefined ? '' : settings['dp-epsilon'];
  byId('ranges').value = (settings['dp-range'] || []).join('\n');
  byId('ridge').value = settings.ridge === undefined ? '' : [].concat(settings.ridge).join(',');
  byId('lambda').value = settings.lambda === undefined || settings.lambda === 'auto' ? '' : settings.lambda;
}

function number(id) {
  const text = byId(id).value.trim().replace(',', '.');
  if (text === '' || text === 'auto') return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) { complain(`${id}: "${text}" is not a number`); return null; }
  return value;
}

// The form as settings, over what it does not show.
function choices() {
  const settings = { ...state.settings };
  for (const key of ['node', 'target', 'features', 'one-hot', 'drop', 'missing', 'standardize', 'knn', 'by', 'metric', 'coupling', 'penalty', 'loss', 'ridge', 'lambda', 'nodes', 'edges', 'graph', 'degree', 'discrepancy', 'calibrate', 'dp-epsilon', 'dp-range']) delete settings[key];
  settings.node = byId('node').value;
  settings.target = byId('target').value;
  const taken = [settings.node, settings.target];
  const boxes = [...byId('features').querySelectorAll('input:checked')].filter((box) => !taken.includes(box.value));
  settings.features = boxes.filter((box) => box.dataset.number === 'true').map((box) => box.value);
  const words = boxes.filter((box) => box.dataset.number !== 'true').map((box) => box.value);
  if (words.length) settings['one-hot'] = words;
  if (byId('missing').value !== 'error') settings.missing = byId('missing').value;
  if (byId('standardize').checked) settings.standardize = true;
  const edges = byId('edges').value;
  const by = [byId('by-1').value, byId('by-2').value];
  if (edges === 'knn') Object.assign(settings, { knn: Math.max(1, Math.round(Number(byId('k').value) || 5)), by });
  else if (state.settings.by) settings.by = state.settings.by;
  if (edges === 'none' || edges === 'learn') settings.edges = null;
  if (edges === 'learn') {
    Object.assign(settings, { graph: 'learn', degree: Math.max(1, Math.round(Number(byId('degree').value) || 4)) });
    if (byId('discrepancy').value) settings.discrepancy = byId('discrepancy').value;
  }
  if (byId('calibrate').checked) settings.calibrate = 10;
  if (byId('coupling').value === 'learnt') settings.coupling = 'learnt';
  if (byId('penalty').value !== 'norm2' && byId('coupling').value !== 'learnt') settings.penalty = byId('penalty').value;
  if (byId('loss').value !== 'squared') settings.loss = byId('loss').value;
  const [ridge, lambda, epsilon] = ['ridge', 'lambda', 'epsilon'].map(number);
  if (ridge === null || lambda === null || epsilon === null) return null;
  if (epsilon !== undefined) {
    settings['dp-epsilon'] = epsilon;
    const ranges = byId('ranges').value.split('\n').map((line) => line.trim()).filter(Boolean);
    if (ranges.length) settings['dp-range'] = ranges;
    // What would tell about the rows by another way.
    delete settings.standardize;
    delete settings.calibrate;
  }
  if (ridge !== undefined) settings.ridge = ridge;
  if (lambda !== undefined && byId('coupling').value !== 'learnt') settings.lambda = lambda;
  return settings;
}

let waiting = null;

// What belongs to a choice is there with it.
function unfold() {
  const edges = byId('edges').value;
  byId('knn').hidden = edges !== 'knn';
  byId('edge-file').hidden = edges !== 'file';
  byId('learn').hidden = edges !== 'learn';
  byId('private').hidden = byId('epsilon').value.trim() === '';
}

function changed() {
  unfold();
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const settings = choices();
    if (!settings) return;
    const alone = settings.edges === null;
    delete settings.edges;
    ask(alone ? '/choose?alone=true' : '/choose', settings);
  }, 250);
}

async function upload(file, part) {
  byId('table').textContent = `reading ${file.name} …`;
  await ask(`/upload?name=${encodeURIComponent(file.name)}&part=${part}`, null, { headers: {}, body: file });
}

/* ---- the state ---- */

function show(next) {
  state = next;
  byId('gone').hidden = true;
  const { table, work, fitted } = state;
  if (JSON.stringify(state.files) !== byId('files').dataset.names) {
    byId('files').dataset.names = JSON.stringify(state.files);
    fill(byId('files'), state.files, undefined, 'a file of this folder');
    fill(byId('edge-files'), state.files, undefined, 'a file of this folder');
  }
  for (const id of ['choices', 'graph', 'model', 'privacy', 'go', 'attack', 'again']) byId(id).hidden = !table;
  complain(state.problem);
  if (table) {
    byId('table').textContent = `${table.name}: ${table.rows.toLocaleString('en')} rows, ${table.columns.length} columns`;
    list(byId('warnings'), table.warnings);
    const key = JSON.stringify([state.settings, state.edges]);
    if (key !== said || opened !== table.name) {
      [said, opened] = [key, table.name];
      showForm();
      unfold();
    }
    byId('command').textContent = state.command;
    byId('python').textContent = state.python;
  }
  showWork(work);
  showAttack(state.attacked);
  byId('report').hidden = !fitted;
  byId('summary').hidden = !table || Boolean(fitted) || !state.words;
  byId('counts').textContent = state.words;
  list(byId('notices'), state.notices);
  byId('slide').hidden = !fitted;
  if (fitted) showLambda(fitted);
  if (state.picture !== drawn) draw();
}

function list(root, lines) {
  root.hidden = !lines.length;
  root.replaceChildren(...lines.map((line) => element('li', '', line)));
}

function showWork(work) {
  const running = Boolean(work && work.running);
  byId('work').hidden = !work;
  byId('cancel').hidden = !running;
  for (const id of ['fit', 'compare', 'go-attack', 'export']) byId(id).disabled = running || Boolean(state.problem);
  if (!work) return;
  const bar = byId('progress');
  bar.hidden = !running;
  if (work.share === null) bar.removeAttribute('value');
  else bar.value = work.share;
  const objective = work.objective === null ? '' : `, objective ${short(work.objective)}`;
  const how = work.iteration ? `, iteration ${work.iteration}${objective}` : '';
  byId('words').textContent = running
    ? `${work.name}: ${work.what || 'reading'}${how}, ${work.seconds.toFixed(1)} s`
    : `${work.name}: ${work.words.split('\n')[0]}`;
  byId('words').classList.toggle('problem', !running && !work.good);
}

/* ---- lambda ---- */

const STEPS = 1000;
const at = (range, step) => range[0] * (range[1] / range[0]) ** (step / STEPS);
const stepOf = (range, lambda) => Math.round(STEPS * Math.log(lambda / range[0]) / Math.log(range[1] / range[0]));

function showLambda(fitted) {
  const slider = byId('slider');
  slider.hidden = !fitted.range;
  if (fitted.range && !sliding && wanted === null && document.activeElement !== slider) slider.value = stepOf(fitted.range, fitted.lambda);
  if (!sliding) {
    byId('now').textContent = short(fitted.lambda);
    slider.setAttribute('aria-valuetext', `lambda ${short(fitted.lambda)}`);
  }
  if (fitted.fixed) byId('told').textContent = `It cannot be moved: ${fitted.fixed}.`;
}

async function slide() {
  if (sliding || wanted === null || !report) return;
  sliding = true;
  while (wanted !== null) {
    const lambda = wanted;
    wanted = null;
    const began = performance.now();
    const next = await ask('/slide', { lambda });
    if (!next) break;
    if (report) report.moved(next);
    const whole = Math.round(performance.now() - began);
    const unfinished = next.status === 'converged' ? '' : ', not yet converged';
    byId('told').textContent = `models followed in ${Math.round(1000 * next.seconds)} ms, the page in ${whole} ms${unfinished}`;
    byId('told').dataset.ms = whole;
    byId('now').textContent = short(lambda);
  }
  sliding = false;
  showPulls();
}

/* ---- the picture ---- */

// One after the other: the script of a picture expects its elements.
async function draw() {
  if (drawing) return;
  drawing = true;
  try {
    while (state.picture !== drawn) await drawNow();
  } finally {
    drawing = false;
  }
}

async function drawNow() {
  drawn = state.picture;
  const answer = await fetch('/picture').catch(() => null);
  if (!answer) return;
  const html = await answer.text();
  const kept = report ? { name: report.data.name[report.shown()], scroll: window.scrollY } : {};
  byId('result').innerHTML = html;
  byId('result').classList.toggle('preview', !state.fitted);
  byId('pulls').hidden = true;
  report = null;
  if (!document.getElementById('data')) return;
  const now = drawn;
  report = await import(`/report.js?picture=${now}`);
  const again = kept.name === undefined ? -1 : report.data.name.indexOf(kept.name);
  if (again >= 0) { report.choose(again); showPulls(); }
  if (kept.scroll) window.scrollTo(0, kept.scroll);
  byId('result').dataset.picture = now;
}

async function showPulls() {
  const box = byId('pulls');
  const i = report ? report.shown() : -1;
  if (i < 0 || !state.fitted) { box.hidden = true; return; }
  const name = report.data.name[i];
  const answer = await fetch(`/node?name=${encodeURIComponent(name)}`).catch(() => null);
  const data = answer && answer.ok ? await answer.json() : { pulls: [] };
  const rows = element('ul');
  for (const pull of data.pulls.slice(0, 8)) {
    const row = element('li');
    const track = element('span', 'track');
    track.style.setProperty('--w', `${100 * pull.share}%`);
    row.append(element('span', 'name', pull.name), track, element('span', '', `${Math.round(100 * pull.share)} %`));
    rows.append(row);
  }
  const words = data.pulls.length ? 'Shares of the forces with which neighbours hold it away from its own rows.'
    : data.degree ? 'No neighbour pulls at it.' : 'It has no neighbours.';
  box.replaceChildren(element('h3', '', `Who shaped ${name}`), element('p', 'quiet', words), rows);
  box.hidden = false;
}

/* ---- what can be done ---- */

byId('form').addEventListener('submit', (event) => event.preventDefault());
byId('form').addEventListener('change', (event) => {
  const { id } = event.target;
  if (id === 's-file') { if (event.target.files[0]) upload(event.target.files[0], 'nodes'); return; }
  if (id === 's-edge-upload') { if (event.target.files[0]) upload(event.target.files[0], 'edges'); return; }
  if (id === 's-files') { if (event.target.value) ask('/open', { name: event.target.value }); return; }
  if (id === 's-edge-files') { if (event.target.value) ask('/open', { name: event.target.value, part: 'edges' }); return; }
  // Classes have losses of their own.
  if (id === 's-target') byId('loss').value = state.table.columns.find((column) => column.name === event.target.value).loss || 'squared';
  changed();
});
for (const type of ['dragover', 'dragleave', 'drop']) {
  document.addEventListener(type, (event) => {
    event.preventDefault();
    byId('drop').classList.toggle('over', type === 'dragover');
    const file = type === 'drop' && event.dataTransfer.files[0];
    if (file) upload(file, /\.(graphml|gml|adj)$/i.test(file.name) ? 'edges' : 'nodes');
  });
}
for (const id of ['fit', 'compare', 'cancel']) byId(id).addEventListener('click', () => ask('/' + id));
byId('go-attack').addEventListener('click', () => {
  const wanted = asked();
  if (typeof wanted === 'string') complain(wanted);
  else ask('/attack', wanted);
});
byId('export').addEventListener('click', () => ask('/export', { out: byId('out').value }));
byId('slider').addEventListener('input', () => {
  wanted = at(state.fitted.range, Number(byId('slider').value));
  byId('now').textContent = short(wanted);
  slide();
});
byId('slider').addEventListener('change', async () => {
  while (sliding || wanted !== null) await new Promise((done) => { setTimeout(done, 30); });
  ask('/redraw');
});
byId('result').addEventListener('click', (event) => {
  if (event.target.closest('#net, #table tbody')) setTimeout(showPulls, 0);
}, { capture: true }); // before the table draws its rows again

const events = new EventSource('/events');
events.onmessage = (event) => show(JSON.parse(event.data));
events.onerror = () => { byId('gone').hidden = false; };
events.onopen = () => { byId('gone').hidden = true; };

// The page of a job that runs. It keeps nothing and can change nothing: what there is to say comes as one state whenever it changes.
const byId = (id) => document.getElementById('w-' + id);
document.documentElement.classList.add('scripted');

const PAUSE = 500;      // milliseconds between two pictures
let drawn = 0;          // when the picture was asked for
let points = -1;        // points of the picture that is shown
let timer = null;
let over = false;

const short = (x) => (x === null || x === undefined ? '–' : Number(x.toPrecision(4)).toString());
const bytes = (n) => {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let k = 0;
  for (; n >= 1000 && k < units.length - 1; k++) n /= 1000;
  return `${k ? n.toPrecision(3) : n} ${units[k]}`;
};

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function fact(label, value, note) {
  const row = element('div');
  const told = element('dd');
  told.append(element('strong', '', value), element('span', '', note));
  row.append(element('dt', '', label), told);
  return row;
}

function facts(state) {
  const rows = [fact('Time', `${state.seconds.toFixed(1)} s`, 'since the start')];
  if (state.iteration !== null) {
    rows.push(fact('Iteration', state.iteration.toLocaleString('en'), ''));
    rows.push(fact('Objective', short(state.objective), ''));
    rows.push(state.gap === null ? fact('KKT residual', short(state.residual), 'relative; no certificate yet')
      : fact('Certified gap', short(state.gap), 'no models are better by more'));
  }
  if (state.parts.length) {
    const rounds = state.parts.map((part) => part.round);
    const most = state.parts.map((part) => part.residual).filter((x) => x !== null);
    rows.push(fact('Rounds', Math.min(...rounds).toLocaleString('en'), 'done by all parts'));
    if (most.length) rows.push(fact('Residual', short(Math.max(...most)), 'the largest that a part knows'));
    rows.push(fact('Sent', bytes(state.parts.reduce((sum, part) => sum + part.sent, 0)), 'by all parts, before encryption'));
  }
  byId('facts').replaceChildren(...rows);
}

function parts(list) {
  byId('parts').hidden = !list.length;
  byId('rows').replaceChildren(...list.map((part) => {
    const row = element('tr', part.lost ? 'lost' : '');
    const head = element('th', '', part.name);
    head.scope = 'row';
    row.append(head, element('td', 'words', part.lost || part.state));
    const cells = [part.round.toLocaleString('en'), short(part.residual), bytes(part.sent), bytes(part.received), `${part.up} of ${part.neighbours}`];
    row.append(...cells.map((cell) => element('td', '', cell)));
    return row;
  }));
}

function notes(lines) {
  byId('notes').hidden = !lines.length;
  // Only what is new: a list that is spoken is not to begin again.
  for (const line of lines.slice(byId('lines').children.length)) byId('lines').append(element('li', '', line));
}

function show(state) {
  byId('gone').hidden = true;
  const { ended } = state;
  const words = state.parts.length ? `A federation of ${state.parts.length} parts` : state.what || 'starting';
  byId('what').textContent = words[0].toUpperCase() + words.slice(1);
  byId('command').textContent = state.command;
  const status = byId('status');
  const lost = state.parts.filter((part) => part.lost).length;
  status.textContent = ended ? ended.words : lost ? `Running; ${lost} of ${state.parts.length} parts gone` : 'Running';
  status.className = `status${ended ? (ended.good ? ' good' : ' bad') : lost ? ' bad' : ''}`;
  const bar = byId('progress');
  bar.hidden = Boolean(ended);
  if (state.share === null) bar.removeAttribute('value');
  else bar.value = state.share;
  facts(state);
  parts(state.parts);
  notes(state.notes);
  if (ended) end(ended);
  else if (state.points !== points && !timer) {
    timer = setTimeout(() => { timer = null; draw(state.points); }, Math.max(0, drawn + PAUSE - Date.now()));
  }
}

async function picture() {
  const answer = await fetch('/picture').catch(() => null);
  return answer && answer.ok ? answer.text() : null;
}

async function draw(count) {
  // The program goes as soon as it has told how it ended.
  if (over) return;
  drawn = Date.now();
  points = count;
  const html = await picture();
  if (html !== null && !over) byId('chart').innerHTML = html;
}

// Everything that is shown from now on is fetched before the program is told that it may go.
async function end(ended) {
  if (over) return;
  over = true;
  document.title = `Fedweave: ${ended.good ? 'done' : 'ended'}`;
  const html = await picture();
  if (html !== null && ended.report) {
    byId('result').innerHTML = html;
    byId('live').hidden = !byId('rows').children.length;
    if (document.getElementById('data')) await import('/report.js');
  } else if (html !== null) byId('chart').innerHTML = html;
  events.close();
}

const events = new EventSource('/events');
events.onmessage = (event) => show(JSON.parse(event.data));
events.onerror = () => { if (!over) byId('gone').hidden = false; };
events.onopen = () => { byId('gone').hidden = true; };

'use strict';
// The page is complete without this script; it adds hover, selection, colours, zoom, sorting and searching.
// Texts from the data are only ever set as textContent.
document.documentElement.classList.add('scripted');

const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
const isNumber = (x) => typeof x === 'number' && Number.isFinite(x);
const GREY = 10;

/* ---- numbers and elements ---- */

function superscript(exponent) {
  return String(exponent).replace(/./g, (c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[c]));
}

// The same rules as number.rs.
function format(x, digits = 3) {
  if (!isNumber(x)) return '–';
  if (x === 0) return '0';
  const [mantissa, power] = Math.abs(x).toExponential(digits - 1).split('e');
  const exponent = Number(power);
  const sign = x < 0 ? '−' : '';
  if (exponent < -4 || exponent >= 6) return `${sign}${Number(mantissa)} × 10${superscript(exponent)}`;
  const [whole, fraction = ''] = Math.abs(x).toFixed(Math.max(0, digits - 1 - exponent)).split('.');
  const kept = fraction.replace(/0+$/, '');
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ',') + (kept ? '.' + kept : '');
}

function percent(share) {
  if (!isNumber(share)) return '–';
  const value = 100 * share;
  const text = Math.abs(value) >= 9.95 ? format(Math.round(value), 6) : format(value, 2);
  return (share > 0 ? '+' : '') + text + ' %';
}

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// Where on the path the network is shown: the cluster and the colour of every node there; null: as fitted.
let along = null;
const shownColour = (i) => (along ? along.colours[i] : clusterColour(i));
const clusterColour = (i) => (data.cluster[i] === null ? GREY : data.colours[data.cluster[i]]);

/* ---- the tooltip, one for the page ---- */

const tip = byId('tip');

function showTip(x, y, lines) {
  tip.replaceChildren(...lines.map((line, k) => element('div', k ? '' : 'first', line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth - box.width - 8;
  tip.style.left = Math.max(8, Math.min(x + 14, room)) + 'px';
  tip.style.top = (y - box.height - 12 < 8 ? y + 16 : y - box.height - 12) + 'px';
}

function hideTip() {
  tip.hidden = true;
}

function nodeLines(i) {
  const lines = [data.name[i]];
  const about = data.cluster[i] === null ? [] : [`cluster ${data.cluster[i] + 1}`];
  if (along) about.splice(0, 1, `cluster ${along.clusters[i] + 1} at λ = ${along.lambda}`);
  about.push(`${format(data.rows[i], 9)} ${data.rows[i] === 1 ? 'row' : 'rows'}`);
  lines.push(about.join(' · '));
  if (isNumber(data.validation[i])) lines.push(`held-out error ${format(data.validation[i])}`);
  else if (isNumber(data.train[i])) lines.push(`training error ${format(data.train[i])}`);
  if (isNumber(data.gain[i])) lines.push(`${percent(data.gain[i])} against local only`);
  if (mode && mode.parameter !== undefined) {
    lines.push(`${data.features[mode.parameter]} = ${format((data.parameters[i] || [])[mode.parameter])}`);
  }
  return lines;
}

/* ---- the network ---- */

const net = byId('net');
let mode = null;
let chosen = -1;

const palettes = { sequential: 7, diverging: 7 };

function values(key, parameter) {
  if (parameter !== undefined) return data.parameters.map((w) => w[parameter]);
  return data[key];
}

function quantile(sorted, q) {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

// Bins between the fences of the quartiles: outliers must not take all the colours. A gain is at most 100 %, and less than 1 % is none.
function binsOf(list, diverging) {
  const sorted = list.filter(isNumber).sort((a, b) => a - b);
  const [first, last] = [sorted[0], sorted[sorted.length - 1]];
  const [q1, q3] = [quantile(sorted, 0.25), quantile(sorted, 0.75)];
  const reach = 1.5 * (q3 - q1);
  let [low, high] = reach > 0 ? [Math.max(first, q1 - reach), Math.min(last, q3 + reach)] : [first, last];
  if (diverging) {
    high = clamp(Math.max(Math.abs(low), Math.abs(high)), 0.01, 1);
    low = -high;
  }
  const count = diverging ? palettes.diverging : palettes.sequential;
  const width = (high - low) / count;
  const bin = (v) => (width > 0 ? Math.max(0, Math.min(count - 1, Math.floor((v - low) / width))) : count >> 1);
  return { low, high, count, bin, below: first < low, above: last > high };
}

function classesOf(key, parameter) {
  if (key === 'cluster') return { classOf: (i) => 'c' + shownColour(i) };
  const list = values(key, parameter);
  const diverging = key === 'gain';
  const bins = binsOf(list, diverging);
  const letter = diverging ? 'v' : 's';
  return { bins, letter, diverging, classOf: (i) => (isNumber(list[i]) ? letter + bins.bin(list[i]) : 'c' + GREY) };
}

function svg(tag, attributes) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

const dotAt = (i) => (data.x[i] === null ? '' : `M${data.x[i]} ${data.y[i]}h0`);

// The same as in network.rs: few dots one by one, many dots one path for each colour, grey first.
function shapes(classOf) {
  const all = data.name.map((_, i) => i);
  if (all.length <= 500) return all.map((i) => [classOf(i), dotAt(i)]);
  const paths = new Map([['c' + GREY, []]]);
  for (const i of all) {
    const name = classOf(i);
    if (!paths.has(name)) paths.set(name, []);
    paths.get(name).push(dotAt(i));
  }
  return [...paths].map(([name, list]) => [name, list.join('')]);
}

function colourBy(key, parameter) {
  mode = { key, parameter };
  const { bins, letter, diverging, classOf } = classesOf(key, parameter);
  byId('dots').replaceChildren(...shapes(classOf).map(([name, d]) => {
    const group = svg('g', { class: 'group ' + name });
    group.append(svg('path', { class: 'halo', d }), svg('path', { class: 'dots', d }));
    return group;
  }));
  showRamp(bins, letter, diverging);
  for (const button of document.querySelectorAll('[data-mode]')) {
    button.setAttribute('aria-pressed', String(button.dataset.mode === key));
  }
  focusColour(null);
}

function showRamp(bins, letter, diverging) {
  const ramp = byId('ramp');
  const clusters = byId('clusters');
  if (byId('legend-title')) byId('legend-title').hidden = Boolean(bins) || !along;
  ramp.hidden = !bins;
  if (clusters) clusters.hidden = Boolean(bins);
  byId('ground').style.display = bins ? 'none' : '';
  if (!bins) return;
  ramp.querySelector('p').textContent = rampTitle();
  ramp.querySelector('.steps').replaceChildren(...Array.from({ length: bins.count }, (_, k) => element('i', letter + k)));
  const show = diverging ? percent : (v) => format(v);
  const texts = [(bins.below ? '≤ ' : '') + show(bins.low), diverging ? '0' : '', (bins.above ? '≥ ' : '') + show(bins.high)];
  [...ramp.lastElementChild.children].forEach((span, k) => { span.textContent = texts[k]; });
}

function rampTitle() {
  if (mode.parameter !== undefined) return `Parameter ${data.features[mode.parameter]}`;
  if (mode.key === 'gain') return 'Error saved against the local-only model';
  return (mode.key === 'train' ? 'Training error' : 'Held-out error') + (data.error_name ? `, ${data.error_name}` : '');
}

function focusColour(colour) {
  byId('drawing').classList.toggle('focused', colour !== null);
  byId('lit').replaceChildren();
  for (const path of net.querySelectorAll('.group, .ground')) path.classList.toggle('focus', path.classList.contains('c' + colour));
  for (const button of document.querySelectorAll('#clusters button')) {
    button.setAttribute('aria-pressed', String(button.dataset.colour === String(colour)));
  }
}

/* the part of the drawing that is seen */

const whole = net ? net.getAttribute('viewBox').split(' ').map(Number) : [0, 0, 1, 1];
let view = whole.slice();

function setView(x, y, width) {
  const w = Math.min(whole[2], Math.max(whole[2] / 60, width));
  const h = w * whole[3] / whole[2];
  view = [clamp(x, 0, whole[2] - w), clamp(y, 0, whole[3] - h), w, h];
  net.setAttribute('viewBox', view.join(' '));
  const zoom = whole[2] / w;
  const frame = byId('frame');
  frame.style.setProperty('--grow', Math.min(2.4, Math.sqrt(zoom)).toFixed(3));
  frame.classList.toggle('zoomed', zoom > 1.001);
  placeLabels();
}

const clamp = (v, low, high) => Math.max(low, Math.min(high, v));

function zoomAt(factor, px = 0.5, py = 0.5) {
  const [x, y, w, h] = view;
  const width = clamp(w / factor, whole[2] / 60, whole[2]);
  const height = width * whole[3] / whole[2];
  setView(x + px * (w - width), y + py * (h - height), width);
}

function toScreen(i) {
  const box = net.getBoundingClientRect();
  return [(data.x[i] - view[0]) / view[2] * box.width, (data.y[i] - view[1]) / view[3] * box.height];
}

// The node nearest to a place in the frame, if it is near.
function nodeNear(px, py, reach) {
  const box = net.getBoundingClientRect();
  const scale = box.width / view[2];
  const [x, y] = [view[0] + px / scale, view[1] + py / scale];
  let [best, nearest] = [-1, (reach / scale) ** 2];
  for (let i = 0; i < data.x.length; i++) {
    if (data.x[i] === null) continue;
    const distance = (data.x[i] - x) ** 2 + (data.y[i] - y) ** 2;
    if (distance < nearest) [best, nearest] = [i, distance];
  }
  return best;
}

/* names beside the nodes, as many as fit without touching each other */

const LABELS_MAX = 60;

function placeLabels() {
  const box = net.getBoundingClientRect();
  const seen = [];
  for (let i = 0; i < data.x.length && seen.length <= LABELS_MAX; i++) {
    if (data.x[i] === null) continue;
    const [px, py] = toScreen(i);
    if (px >= 0 && py >= 0 && px <= box.width && py <= box.height) seen.push([i, px, py]);
  }
  const labels = byId('labels');
  labels.replaceChildren();
  if (seen.length > LABELS_MAX || box.width < 200) return;
  const taken = seen.map(([, px, py]) => [px - 6, py - 6, px + 6, py + 6]);
  for (const other of byId('frame').querySelectorAll('.degrees span')) {
    const r = other.getBoundingClientRect();
    taken.push([r.left - box.left, r.top - box.top, r.right - box.left, r.bottom - box.top]);
  }
  for (const [i, px, py] of seen) placeLabel(labels, box, taken, i, px, py);
}

function placeLabel(labels, box, taken, i, px, py) {
  const label = element('span', '', data.name[i]);
  labels.append(label);
  const [w, h] = [label.offsetWidth, label.offsetHeight];
  const spots = [[px + 10, py - h / 2], [px - w - 10, py - h / 2], [px - w / 2, py - h - 8], [px - w / 2, py + 8]];
  const free = spots.find(([x, y]) => x > 0 && y > 0 && x + w < box.width && y + h < box.height
    && taken.every((t) => x > t[2] || x + w < t[0] || y > t[3] || y + h < t[1]));
  if (!free) return label.remove();
  label.style.left = free[0] + 'px';
  label.style.top = free[1] + 'px';
  taken.push([free[0], free[1], free[0] + w, free[1] + h]);
}

/* pointing, choosing, moving */

function prepareNetwork() {
  const frame = byId('frame');
  let drag = null;
  const at = (event) => {
    const box = net.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top, box];
  };
  net.addEventListener('pointermove', (event) => {
    const [px, py, box] = at(event);
    if (drag && frame.classList.contains('zoomed')) {
      drag.moved = drag.moved || Math.hypot(px - drag.px, py - drag.py) > 4;
      const scale = view[2] / box.width;
      setView(drag.view[0] - (px - drag.px) * scale, drag.view[1] - (py - drag.py) * scale, view[2]);
      return hideTip();
    }
    point(event, nodeNear(px, py, event.pointerType === 'touch' ? 24 : 14));
  });
  net.addEventListener('pointerdown', (event) => {
    const [px, py] = at(event);
    drag = { px, py, view: view.slice(), moved: false };
  });
  window.addEventListener('pointerup', () => { setTimeout(() => { drag = null; }, 0); });
  net.addEventListener('pointerleave', () => { hideTip(); drawRing(); });
  net.addEventListener('click', (event) => {
    if (drag && drag.moved) return;
    const [px, py] = at(event);
    choose(nodeNear(px, py, 24));
  });
  net.addEventListener('dblclick', (event) => {
    const [px, py, box] = at(event);
    zoomAt(2, px / box.width, py / box.height);
  });
  net.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey && !frame.classList.contains('zoomed')) return;
    event.preventDefault();
    const [px, py, box] = at(event);
    zoomAt(Math.exp(-event.deltaY * 0.002), px / box.width, py / box.height);
  }, { passive: false });
  for (const button of document.querySelectorAll('[data-zoom]')) {
    const factors = { in: 1.6, out: 1 / 1.6, all: 1e-9 };
    button.addEventListener('click', () => zoomAt(factors[button.dataset.zoom]));
  }
  // A studio takes the page away, and its frame shrinks to nothing.
  new ResizeObserver(() => { if (frame.isConnected) placeLabels(); }).observe(frame);
}

function point(event, i) {
  net.classList.toggle('pointing', i >= 0);
  drawRing(i);
  if (i < 0) return hideTip();
  const box = net.getBoundingClientRect();
  const [px, py] = toScreen(i);
  showTip(box.left + px, box.top + py, nodeLines(i));
}

function drawRing(pointed = -1) {
  const ringed = [...new Set([chosen, pointed])].filter((i) => i >= 0);
  byId('ring').setAttribute('d', ringed.map(dotAt).join(''));
}

function neighbours(i) {
  const found = [];
  for (let e = 0; e < data.edges.length; e += 2) {
    if (data.edges[e] === i) found.push(data.edges[e + 1]);
    else if (data.edges[e + 1] === i) found.push(data.edges[e]);
  }
  return [...new Set(found)];
}

function choose(i) {
  chosen = i === chosen ? -1 : i;
  const near = chosen < 0 ? [] : neighbours(chosen).filter((j) => data.x[j] !== null);
  if (net) {
    const from = `M${data.x[chosen]} ${data.y[chosen]}L`;
    const drawn = chosen >= 0 && data.x[chosen] !== null ? near : [];
    byId('chosen-edges').setAttribute('d', drawn.map((j) => `${from}${data.x[j]} ${data.y[j]}`).join(''));
    drawRing();
    showChosen(near);
  }
  if (table) table.reveal(chosen);
}

function showChosen(near) {
  const box = byId('chosen');
  const i = chosen;
  if (i < 0) {
    box.replaceChildren(element('p', 'hint', 'Point at a node to see its facts; click or tap to keep them here.'));
    return;
  }
  const list = element('dl', 'card');
  const add = (term, text) => {
    const row = element('div');
    row.append(element('dt', '', term), element('dd', '', text));
    list.append(row);
  };
  if (data.cluster[i] !== null) add('Cluster', String(data.cluster[i] + 1));
  add('Rows', format(data.rows[i], 9));
  add('Neighbours', format(near.length, 9));
  const errors = [['Training error', data.train], ['Held-out error', data.validation], ['Local-only error', data.local], ['Global error', data.global]];
  for (const [term, column] of errors) if (isNumber(column[i])) add(term, format(column[i]));
  if (isNumber(data.gain[i])) add('Gain over local', percent(data.gain[i]));
  box.replaceChildren(element('h3', '', data.name[i]), list, ...alikeWith(i), ...shapedBy(i), ...parameterBars(i));
}

const ALIKE_SHOWN = 8;

// The neighbours in a graph that was learnt, the most alike first.
function alikeWith(i) {
  const found = [];
  for (let e = 0; e < data.discrepancy.length; e++) {
    const [a, b] = [data.edges[2 * e], data.edges[2 * e + 1]];
    if ((a === i || b === i) && isNumber(data.discrepancy[e])) found.push([data.discrepancy[e], a === i ? b : a]);
  }
  if (!found.length) return [];
  found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const list = element('dl', 'card shaped');
  for (const [apart, j] of found.slice(0, ALIKE_SHOWN)) {
    const row = element('div');
    row.append(element('dt', '', data.name[j]), element('dd', '', format(apart)));
    list.append(row);
  }
  return [element('p', 'card-title', `How unlike its neighbours are (${data.measure})`), list];
}

// Whose rows shaped the model, with their shares.
function shapedBy(i) {
  const shares = data.shaped[i] || [];
  if (!shares.length) return [];
  const list = element('dl', 'card shaped');
  for (const [name, share] of shares) {
    const row = element('div');
    row.append(element('dt', '', name === data.name[i] ? 'its own rows' : name), element('dd', '', percent(share).replace('+', '')));
    list.append(row);
  }
  return [element('p', 'card-title', 'Whose rows shaped its model'), list];
}

const PARAMETERS_SHOWN = 12;

function parameterBars(i) {
  const w = data.parameters[i] || [];
  if (!w.length) return [];
  const order = w.map((_, k) => k).sort((a, b) => Math.abs(w[b]) - Math.abs(w[a])).slice(0, PARAMETERS_SHOWN).sort((a, b) => a - b);
  const most = Math.max(...w.map(Math.abs)) || 1;
  const list = element('dl', 'parameters');
  for (const k of order) {
    const row = element('div');
    const bar = element('span', w[k] < 0 ? 'bar minus' : 'bar');
    bar.style.width = 50 * Math.abs(w[k]) / most + '%';
    const cell = element('dd');
    const track = element('span', 'axis');
    track.append(bar);
    cell.append(track, element('span', 'value', format(w[k])));
    row.append(element('dt', '', data.features[k]), cell);
    list.append(row);
  }
  const more = w.length > order.length ? ` (the ${order.length} largest of ${w.length})` : '';
  return [element('p', 'card-title', 'Its model' + more), list];
}

function prepareColours() {
  const buttons = [...document.querySelectorAll('[data-mode]')];
  const select = byId('parameter');
  for (const button of buttons) {
    button.addEventListener('click', () => { if (select) select.value = ''; colourBy(button.dataset.mode); });
  }
  if (byId('clusters')) byId('clusters').addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (button) focusColour(button.getAttribute('aria-pressed') === 'true' ? null : Number(button.dataset.colour));
  });
  if (select && !data.parameters.length) select.parentElement.hidden = true;
  if (select) {
    data.features.forEach((name, k) => select.append(new Option(name, String(k))));
    select.addEventListener('change', () => {
      if (select.value === '') colourBy(buttons.length ? buttons[0].dataset.mode : 'cluster');
      else colourBy('parameter', Number(select.value));
    });
  }
  // Where hardly anybody shares a model, the gain tells more than the clusters.
  const alone = data.cluster.filter((_, i) => clusterColour(i) === GREY).length;
  const gain = alone > data.cluster.length / 2 && buttons.some((button) => button.dataset.mode === 'gain');
  const first = gain ? 'gain' : buttons.length ? buttons[0].dataset.mode : 'cluster';
  if (first !== 'cluster') colourBy(first);
}

/* ---- the table of nodes ---- */

const PAGE = 25;

class Table {
  constructor(root) {
    this.root = root;
    this.body = root.tBodies[0];
    this.heads = [...root.querySelectorAll('th[data-key]')];
    this.keys = this.heads.map((head) => head.dataset.key);
    this.collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
    // n9 before n10, whatever the order of the file.
    this.named = data.name.map((_, i) => i).sort((a, b) => this.collator.compare(data.name[a], data.name[b]) || a - b);
    this.order = this.named;
    this.sort = { key: null, down: false };
    this.page = 0;
    this.most = this.largestError();
    this.mostGain = quantile(data.gain.filter(isNumber).map(Math.abs).sort((a, b) => a - b), 0.97) || 1;
    this.heads.forEach((head) => head.firstElementChild.addEventListener('click', () => this.sortBy(head.dataset.key)));
    byId('search').addEventListener('input', () => { this.page = 0; this.arrange(); });
    byId('previous').addEventListener('click', () => this.turn(-1));
    byId('next').addEventListener('click', () => this.turn(1));
    this.arrange();
  }

  largestError() {
    // A global model can be far worse than all others: its bars may be cut off, the others must be told apart.
    const known = ['train', 'validation', 'local'].filter((key) => data[key].some(isNumber));
    const all = (known.length ? known : ['global']).flatMap((key) => data[key].filter(isNumber)).sort((a, b) => a - b);
    return quantile(all, 0.97) || 1;
  }

  sortBy(key) {
    const again = this.sort.key === key;
    this.sort = { key, down: again ? !this.sort.down : key === 'gain' };
    this.page = 0;
    this.arrange();
  }

  arrange() {
    const text = byId('search').value.trim().toLocaleLowerCase();
    this.order = this.named.filter((i) => !text || data.name[i].toLocaleLowerCase().includes(text));
    const { key, down } = this.sort;
    if (key) this.order.sort((a, b) => this.compare(a, b, key, down));
    for (const head of this.heads) {
      head.setAttribute('aria-sort', head.dataset.key !== key ? 'none' : down ? 'descending' : 'ascending');
    }
    this.show();
  }

  // What is unknown goes last in either direction.
  compare(a, b, key, down) {
    const [u, v] = [data[key][a], data[key][b]];
    if (key === 'name') return (down ? -1 : 1) * this.collator.compare(u, v);
    if (!isNumber(u) || !isNumber(v)) return isNumber(v) - isNumber(u);
    return down ? v - u : u - v;
  }

  turn(step) {
    this.page += step;
    this.show();
  }

  show() {
    const pages = Math.max(1, Math.ceil(this.order.length / PAGE));
    this.page = clamp(this.page, 0, pages - 1);
    const rows = this.order.slice(this.page * PAGE, (this.page + 1) * PAGE);
    this.body.replaceChildren(...rows.map((i) => this.row(i)));
    const found = this.order.length;
    byId('count').textContent = found === data.name.length ? `${format(found, 9)} nodes` : `${format(found, 9)} of ${format(data.name.length, 9)} nodes`;
    byId('pages').textContent = `Page ${this.page + 1} of ${pages}`;
    byId('previous').disabled = this.page === 0;
    byId('next').disabled = this.page === pages - 1;
    document.querySelector('.pager').hidden = pages === 1;
  }

  row(i) {
    const row = element('tr', i === chosen ? 'chosen' : '');
    row.dataset.node = i;
    const head = element('th');
    head.scope = 'row';
    const name = element('button', 'name', data.name[i]);
    name.type = 'button';
    name.title = data.name[i];
    name.addEventListener('click', () => choose(i));
    head.append(name);
    row.append(head, ...this.keys.slice(1).map((key) => this.cell(key, i)));
    return row;
  }

  cell(key, i) {
    const value = data[key][i];
    const cell = element('td');
    if (key === 'cluster') {
      cell.className = 'c' + clusterColour(i);
      if (value !== null) cell.append(element('i'), String(value + 1));
      else cell.textContent = '–';
    } else if (key === 'rows') {
      cell.textContent = format(value, 9);
    } else if (key === 'gain') {
      cell.append(this.gainBar(value), element('span', 'value', percent(value)));
    } else {
      cell.append(this.errorBar(value, key), element('span', 'value', format(value)));
    }
    return cell;
  }

  errorBar(value, key) {
    const bar = element('span', 'mini ' + key);
    bar.style.setProperty('--w', (isNumber(value) ? clamp(100 * value / this.most, 0, 100) : 0) + '%');
    return bar;
  }

  gainBar(value) {
    const bar = element('span', 'mini gain' + (value < 0 ? ' minus' : ''));
    bar.style.setProperty('--w', (isNumber(value) ? clamp(50 * Math.abs(value) / this.mostGain, 0, 50) : 0) + '%');
    return bar;
  }

  // Turns to the page of a node and marks it.
  reveal(i) {
    const place = this.order.indexOf(i);
    if (place >= 0) this.page = Math.floor(place / PAGE);
    this.show();
  }
}

let table = null;

/* ---- charts ---- */

function prepareChart(id, points) {
  const plot = document.querySelector(`[data-chart="${id}"]`);
  const cross = plot.querySelector('.cross');
  plot.addEventListener('pointermove', (event) => {
    const box = plot.getBoundingClientRect();
    const x = 100 * (event.clientX - box.left) / box.width;
    const nearest = points.reduce((best, p) => (Math.abs(p.x - x) < Math.abs(best.x - x) ? p : best));
    cross.hidden = false;
    cross.style.left = nearest.x + '%';
    showTip(box.left + box.width * nearest.x / 100, Math.max(event.clientY, box.top + 20), nearest.lines);
  });
  plot.addEventListener('pointerleave', () => { cross.hidden = true; hideTip(); });
}

/* ---- the command ---- */

function prepareCopy(button) {
  button.addEventListener('click', async () => {
    const code = byId('command');
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1600);
  });
}

if (net) {
  prepareNetwork();
  prepareColours();
  placeLabels();
}
if (byId('table')) table = new Table(byId('table'));
for (const [id, points] of data.hover) if (points.length) prepareChart(id, points);
if (byId('copy')) prepareCopy(byId('copy'));
window.addEventListener('scroll', hideTip, { passive: true });

/* ---- a page around this one, where models move ---- */

// Other models for the same nodes and edges: see live.rs.
function moved(next) {
  for (const key of ['cluster', 'colours', 'train', 'validation', 'local', 'global', 'gain', 'parameters']) data[key] = next[key];
  if (net) {
    moveEdges(next.differs);
    moveLegend(next.legend);
    colourBy(mode ? mode.key : 'cluster', mode ? mode.parameter : undefined);
    if (chosen >= 0) showChosen(neighbours(chosen).filter((j) => data.x[j] !== null));
  }
  if (table) table.show();
  const facts = document.querySelectorAll('.facts > div');
  next.facts.forEach((fact, k) => {
    if (!facts[k]) return;
    facts[k].querySelector('dt').textContent = fact.label;
    facts[k].querySelector('strong').textContent = fact.value;
    facts[k].querySelector('span').textContent = fact.note;
  });
  const bars = document.querySelectorAll('#diagnosis .bar-row');
  next.bars.forEach((bar, k) => {
    if (!bars[k]) return;
    bars[k].querySelector('.fill').style.width = bar.width + '%';
    bars[k].querySelector('.value').textContent = bar.value;
  });
}

function moveEdges(differs) {
  const paths = { inside: [], across: [] };
  differs.forEach((apart, e) => {
    const [i, j] = [data.edges[2 * e], data.edges[2 * e + 1]];
    if (i === undefined || data.x[i] === null || data.x[j] === null) return;
    paths[apart ? 'across' : 'inside'].push(`M${data.x[i]} ${data.y[i]}L${data.x[j]} ${data.y[j]}`);
  });
  // The ground of clusters is drawn again with the whole page.
  byId('ground').replaceChildren();
  for (const [id, list] of Object.entries(paths)) byId(id).setAttribute('d', list.join(''));
}

function moveLegend(entries) {
  const list = byId('clusters');
  if (!list) return;
  list.replaceChildren(...entries.map((entry) => {
    const button = element('button', 'c' + entry.colour);
    button.type = 'button';
    button.dataset.colour = entry.colour;
    button.setAttribute('aria-pressed', 'false');
    button.append(element('i'), entry.label, element('span', '', entry.size));
    const item = element('li');
    item.append(button);
    return item;
  }));
}

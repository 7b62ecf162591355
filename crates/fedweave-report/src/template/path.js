
/* ---- the path over lambda ---- */

const path = data.path;
let at = path ? path.chosen : 0;
const EDGES_DRAWN = 60000;

// Nodes from runs of leaves: first, length, first, length, ...
function nodesOf(runs) {
  const nodes = [];
  for (let r = 0; r < runs.length; r += 2) nodes.push(...path.order.slice(runs[r], runs[r] + runs[r + 1]));
  return nodes;
}

// The cluster and the colour of every node at point k.
function clustersAt(k) {
  const { runs, colours, texts } = path.points[k];
  const colourOf = new Map();
  for (let c = 0; c < colours.length; c += 2) colourOf.set(colours[c], colours[c + 1]);
  const found = { clusters: new Array(path.order.length), colours: new Array(path.order.length), colourOf, lambda: texts[0] };
  let leaf = 0;
  for (let r = 0; r < runs.length; r += 2) {
    const colour = colourOf.has(runs[r]) ? colourOf.get(runs[r]) : GREY;
    for (const end = leaf + runs[r + 1]; leaf < end; leaf++) {
      found.clusters[path.order[leaf]] = runs[r];
      found.colours[path.order[leaf]] = colour;
    }
  }
  return found;
}

const segment = (i, j) => `M${data.x[i]} ${data.y[i]}L${data.x[j]} ${data.y[j]}`;

// The edges as in network.rs: inside clusters, across, and broad beneath the coloured clusters.
function drawEdges() {
  if (!data.edges.length) return;
  const [inside, across, grounds] = [[], [], new Map()];
  const stride = 2 * Math.max(1, Math.ceil(data.edges.length / 2 / EDGES_DRAWN));
  for (let e = 0; e < data.edges.length; e += stride) {
    const [i, j] = [data.edges[e], data.edges[e + 1]];
    if (data.x[i] === null || data.x[j] === null) continue;
    const line = segment(i, j);
    if (along.clusters[i] !== along.clusters[j]) {
      across.push(line);
      continue;
    }
    inside.push(line);
    const colour = along.colours[i];
    if (colour === GREY) continue;
    if (!grounds.has(colour)) grounds.set(colour, []);
    grounds.get(colour).push(line);
  }
  byId('inside').setAttribute('d', inside.join(''));
  byId('across').setAttribute('d', across.join(''));
  byId('ground').replaceChildren(...[...grounds].sort((a, b) => a[0] - b[0])
    .map(([colour, lines]) => svg('path', { class: 'ground c' + colour, d: lines.join('') })));
}

function legendEntry(colour, label, size) {
  const button = element('button', 'c' + colour);
  Object.assign(button, { type: 'button' }).dataset.colour = colour;
  button.setAttribute('aria-pressed', 'false');
  button.append(element('i'), label, element('span', '', format(size, 9)));
  const item = element('li');
  item.append(button);
  return item;
}

function drawLegend() {
  const sizes = new Map();
  for (const cluster of along.clusters) sizes.set(cluster, (sizes.get(cluster) || 0) + 1);
  const coloured = [...along.colourOf].filter(([cluster]) => sizes.has(cluster)).sort((a, b) => a[0] - b[0]);
  const entries = coloured.map(([cluster, colour]) => legendEntry(colour, `Cluster ${cluster + 1}`, sizes.get(cluster)));
  const others = [...sizes].filter(([cluster]) => !along.colourOf.has(cluster)).map(([, size]) => size);
  if (others.length) {
    const alone = others.every((size) => size === 1);
    const label = alone ? 'on their own' : clusterCount(format(others.length, 9)).replace(' ', ' other ');
    entries.push(legendEntry(GREY, label, others.reduce((a, b) => a + b)));
  }
  byId('clusters').replaceChildren(...entries);
  byId('legend-title').textContent = `Clusters at λ = ${along.lambda}`;
}

const clusterCount = (text) => `${text} ${text === '1' ? 'cluster' : 'clusters'}`;

function showReadouts() {
  const { texts } = path.points[at];
  byId('readouts').querySelectorAll('dd').forEach((cell, k) => { cell.textContent = texts[k]; });
  const range = byId('lambda-range');
  range.value = path.points[at].at;
  range.setAttribute('aria-valuetext', `λ = ${texts[0]}, ${clusterCount(texts[1])}`);
  for (const cursor of document.querySelectorAll('.cursor')) cursor.style.left = path.points[at].at + '%';
  // The label of the chosen lambda makes way for the cursor.
  const chosenAt = path.points[path.chosen].at;
  for (const label of document.querySelectorAll('[data-chart^="path-"] .rule-label')) {
    label.classList.toggle('left', chosenAt > 70 || (at > path.chosen && chosenAt > 15));
  }
  const words = byId('mirror-words');
  if (words) words.textContent = `The network at λ = ${texts[0]}, ${clusterCount(texts[1])}.`;
}

// Shows the network at point k of the path.
function goTo(k) {
  at = clamp(k, 0, path.points.length - 1);
  showReadouts();
  if (!net) return;
  along = clustersAt(at);
  drawEdges();
  drawLegend();
  if (byId('parameter')) byId('parameter').value = '';
  colourBy('cluster');
}

// The point nearest to a place in percent.
function pointNear(x) {
  const far = (k) => Math.abs(path.points[k].at - x);
  return path.points.reduce((best, _, k) => (far(k) < far(best) ? k : best), 0);
}

// How far the keys of a slider go; Infinity is an end.
function keyStep(key) {
  const page = Math.max(2, Math.round(path.points.length / 10));
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: page, PageDown: -page, End: Infinity, Home: -Infinity };
  return steps[key] || 0;
}

function prepareSlider() {
  const range = byId('lambda-range');
  const move = (k) => { if (k === at) showReadouts(); else goTo(k); relight(); };
  range.addEventListener('input', () => move(pointNear(Number(range.value))));
  range.addEventListener('keydown', (event) => {
    const step = keyStep(event.key);
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(clamp(at + step, 0, path.points.length - 1));
  });
  for (const plot of document.querySelectorAll('[data-chart^="path-"], #tree')) {
    plot.append(element('span', 'cursor'));
    plot.dataset.lambda = '';
    if (plot.id !== 'tree') plot.addEventListener('click', (event) => move(placeIn(plot, event)));
  }
  showReadouts();
}

function placeIn(plot, event) {
  const box = plot.getBoundingClientRect();
  return pointNear(100 * (event.clientX - box.left) / box.width);
}

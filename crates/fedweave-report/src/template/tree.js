
/* the merge tree: pointing at a branch shows its nodes, clicking keeps them */

let kept = -1;
const NAMES_SHOWN = 4;
const branchPaths = path ? [...document.querySelectorAll('#tree .branch')] : [];

function branchWords(b) {
  const [first, last, rest, runs] = path.branches[b];
  const nodes = nodesOf(runs);
  const size = `${format(nodes.length, 9)} ${nodes.length === 1 ? 'node' : 'nodes'}`;
  const small = path.threshold === 2 ? 'on their own' : `in clusters of fewer than ${format(path.threshold, 9)} nodes`;
  const [from, to] = [path.points[first].texts[0], path.points[last].texts[0]];
  const where = first === last ? `at λ = ${from}` : `from λ = ${from} to ${to}`;
  const names = nodes.slice(0, NAMES_SHOWN).map((i) => data.name[i]).join(', ');
  const more = nodes.length > NAMES_SHOWN ? ` and ${format(nodes.length - NAMES_SHOWN, 9)} more` : '';
  return [rest ? `${size} ${small}` : size, where, names + more];
}

function smallWords() {
  const { small, clusters, texts } = path.points[at];
  return small ? `At λ = ${texts[0]}, ${format(small, 9)} of ${format(clusters, 9)} clusters ${small === 1 ? 'is' : 'are'} drawn in pale grey.` : '';
}

// Draws the nodes of a branch alone in full colour; -1 for none.
function light(b) {
  branchPaths.forEach((shape, k) => shape.classList.toggle('lit', k === b));
  byId('tree').classList.toggle('choosing', b >= 0 && b === kept);
  byId('branch').textContent = kept >= 0 ? branchWords(kept).join(' · ') : smallWords();
  if (!net) return;
  focusColour(null);
  if (b < 0) return;
  const nodes = nodesOf(path.branches[b][3]);
  const colour = branchPaths[b].getAttribute('class').match(/\bc\d+/)[0];
  const group = svg('g', { class: 'group focus ' + colour });
  const d = nodes.map(dotAt).join('');
  group.append(svg('path', { class: 'halo', d }), svg('path', { class: 'dots', d }));
  byId('lit').append(group);
  byId('drawing').classList.add('focused');
}

// A branch that is kept stays lit while lambda is within it.
function relight() {
  const inside = kept >= 0 && path.branches[kept][0] <= at && at <= path.branches[kept][1];
  if (!inside) kept = -1;
  light(kept);
}

// Clicking twice lets go.
function keep(b) {
  kept = b === kept ? -1 : b;
  light(kept);
}

function stepBranch(step) {
  const here = path.branches.map((_, b) => b).filter((b) => path.branches[b][0] <= at && at <= path.branches[b][1])
    .sort((a, b) => path.branches[a][3][0] - path.branches[b][3][0]);
  const place = here.indexOf(kept);
  const next = place < 0 ? (step > 0 ? 0 : here.length - 1) : clamp(place + step, 0, here.length - 1);
  if (here[next] !== kept) keep(here[next]);
}

function treeKey(event) {
  const steps = { ArrowUp: -1, ArrowDown: 1 };
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (steps[event.key]) stepBranch(steps[event.key]);
  else if (event.key === 'Escape') { kept = -1; light(-1); }
  else if (keyStep(event.key)) { goTo(at + keyStep(event.key)); relight(); }
  else return;
  event.preventDefault();
}

function prepareTree() {
  const tree = byId('tree');
  tree.tabIndex = 0;
  let pointed = -1;
  tree.addEventListener('keydown', treeKey);
  tree.addEventListener('pointermove', (event) => {
    const b = branchPaths.indexOf(event.target);
    if (b < 0) hideTip();
    else showTip(event.clientX, event.clientY, branchWords(b));
    if (b !== pointed && event.pointerType !== 'touch') light(b < 0 ? kept : b);
    pointed = b;
  });
  tree.addEventListener('pointerleave', () => {
    pointed = -1;
    hideTip();
    light(kept);
  });
  tree.addEventListener('click', (event) => {
    const b = branchPaths.indexOf(event.target);
    const near = placeIn(tree, event);
    const k = b < 0 ? near : clamp(near, path.branches[b][0], path.branches[b][1]);
    if (k !== at) goTo(k);
    if (b < 0) kept = -1;
    keep(b);
  });
}

if (path) {
  prepareSlider();
  prepareTree();
  byId('branch').textContent = smallWords();
}

// The panel of attacks: what is asked, and the table that comes back. Its words and numbers are the server's.
const byId = (id) => document.getElementById('s-' + id);

let shown = 'null';

function element(tag, text) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  return node;
}

// What the panel asks for; a text that says what is wrong if it cannot be asked.
export function asked() {
  const wanted = { kind: byId('kind').value };
  const victim = byId('victim').value.trim();
  if (victim) wanted.victim = victim;
  const percent = byId('raise').value.trim().replace('%', '').replace(',', '.').trim();
  if (percent !== '') {
    if (!(Number(percent) > 0)) return `raise the error by: "${byId('raise').value}" is not a number above 0`;
    wanted.raise = Number(percent) / 100;
  }
  const budget = byId('budget').value.trim();
  if (budget !== '') {
    if (!/^[1-9]\d*$/.test(budget)) return `nodes at most: "${budget}" is not a whole number above 0`;
    wanted.budget = Number(budget);
  }
  return wanted;
}

function table({ columns, steps, headline }) {
  const head = element('tr');
  head.append(...columns.map((name) => Object.assign(element('th', name), { scope: 'col' })));
  const rows = steps.map((cells) => {
    const row = element('tr');
    row.append(Object.assign(element('th', cells[0]), { scope: 'row' }), ...cells.slice(1).map((cell) => element('td', cell)));
    return row;
  });
  const [root, top, body, box] = ['table', 'thead', 'tbody', 'div'].map((tag) => element(tag));
  top.append(head);
  body.append(...rows);
  root.append(top, body);
  Object.assign(box, { className: 'scroll', tabIndex: 0 });
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', headline);
  box.append(root);
  return box;
}

// The attack that was made last, or none.
export function showAttack(attacked) {
  const key = JSON.stringify(attacked);
  if (key === shown) return;
  shown = key;
  const box = byId('attacked');
  box.hidden = !attacked;
  if (!attacked) { box.replaceChildren(); return; }
  const verdict = element('ul');
  verdict.append(...attacked.verdict.map((line) => element('li', line)));
  const command = element('pre', attacked.command);
  command.tabIndex = 0;
  command.setAttribute('aria-label', 'Command of the attack');
  const words = Object.assign(element('p', attacked.headline), { className: 'quiet' });
  box.replaceChildren(element('h2', 'The attack'), words, table(attacked), verdict, command);
}

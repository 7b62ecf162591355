'use strict';
document.documentElement.classList.add('scripted');
for (const button of document.querySelectorAll('.filter button')) {
  button.addEventListener('click', () => {
    document.body.dataset.show = button.dataset.show;
    for (const other of document.querySelectorAll('.filter button')) other.setAttribute('aria-pressed', String(other === button));
  });
}
for (const button of document.querySelectorAll('.copy')) {
  button.addEventListener('click', async () => {
    const code = button.parentElement.querySelector('code');
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = 'Selected';
    }
  });
}

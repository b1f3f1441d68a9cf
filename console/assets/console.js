/* What pages do beyond what htmx does for them: copying. Everything reads without it. */
const COPIED_FOR_MS = 1500;

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy);
  const words = button.textContent;
  button.textContent = button.dataset.copied;
  setTimeout(() => (button.textContent = words), COPIED_FOR_MS);
}

document.addEventListener('click', (event) => {
  const button = event.target instanceof Element ? event.target.closest('[data-copy]') : null;
  if (button) void copy(button);
});

// On a phone the menu begins closed.
if (matchMedia('(max-width: 48rem)').matches) document.querySelector('details.menu')?.removeAttribute('open');

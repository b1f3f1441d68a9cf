/** Speech and transcripts: sends the two forms of the page, plays the file, and shows the text. */

for (const form of [document.querySelector('#speech'), document.querySelector('#transcript')]) {
  if (form === null) continue;
  const card = form.closest('section');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (form.getAttribute('aria-busy') !== 'true') void send(form, card);
  });
  const model = form.querySelector('select');
  model.addEventListener('change', () => {
    for (const prices of form.querySelectorAll('[data-prices]')) prices.hidden = prices.dataset.prices !== model.value;
  });
}

async function send(form, card) {
  const [state, problem, result] = ['state', 'problem', 'result'].map((name) => card.querySelector(`[data-${name}]`));
  problem.replaceChildren();
  result.replaceChildren();
  state.textContent = form.dataset.working;
  form.setAttribute('aria-busy', 'true');
  try {
    await (form.id === 'speech' ? speak(form, card, problem, result) : transcribe(form, problem, result));
  } catch {
    problem.textContent = form.dataset.broken;
  }
  state.textContent = '';
  form.removeAttribute('aria-busy');
}

async function speak(form, card, problem, result) {
  const player = card.querySelector('audio');
  const response = await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) });
  if (!response.ok || !response.headers.get('content-type').startsWith('audio/')) {
    problem.textContent = (await response.json()).error.message;
    return;
  }
  // A file that breaks off is no answer.
  const file = await response.blob();
  URL.revokeObjectURL(player.src);
  player.src = URL.createObjectURL(file);
  player.hidden = false;
  const cost = await fetch(form.dataset.costAt + response.headers.get('x-request-id'), {
    headers: { 'hx-request': 'true' },
  });
  if (cost.ok) result.innerHTML = await cost.text();
}

async function transcribe(form, problem, result) {
  // The model comes first, so that a refusal needs no file.
  const body = new FormData();
  body.append('model', form.elements.listener.value);
  body.append('file', form.elements.file.files[0]);
  const headers = { 'x-form-token': form.dataset.token, 'hx-request': 'true' };
  const response = await fetch(form.action, { method: 'POST', headers, body });
  (response.ok ? result : problem).innerHTML = await response.text();
}

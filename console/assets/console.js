/* Adds what htmx lacks: copying, dropped files, streamed answers. All pages are readable without scripts. */
const COPIED_FOR_MS = 1500;

async function copy(button) {
  // Without a text of its own, a button copies the text of the element before it.
  await navigator.clipboard.writeText(button.dataset.copy || button.previousElementSibling.textContent);
  const words = button.textContent;
  button.textContent = button.dataset.copied;
  setTimeout(() => (button.textContent = words), COPIED_FOR_MS);
}

document.addEventListener('click', (event) => {
  const button = event.target instanceof Element ? event.target.closest('[data-copy]') : null;
  if (button) void copy(button);
});

document.addEventListener('click', ({ target }) => {
  if (target instanceof Element && target.closest('[data-print]')) print();
});

/* Shows the title of the bar under the pointer below the chart. */
document.addEventListener('pointerover', ({ target }) => {
  const bar = target instanceof Element ? target.closest('.day') : null;
  if (bar) bar.closest('.chart').querySelector('[data-reading]').textContent = bar.querySelector('title').textContent;
});

addEventListener('keydown', (event) => {
  if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  document.querySelector('[data-search]')?.focus();
});

// On a phone, the menu starts closed.
if (matchMedia('(max-width: 48rem)').matches) document.querySelector('details.menu')?.removeAttribute('open');

/* A form in progress ignores a second click. In any case, the server does the work of a form once, by its id. */

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.method !== 'post') return;
  const isBusy = form.hasAttribute('aria-busy');
  const isAsked = form.matches('[data-cost-at]');
  if (isBusy || isAsked) event.preventDefault();
  else rememberSent(form);
  form.setAttribute('aria-busy', 'true');
  if (isAsked && !isBusy) void ask(form).finally(() => form.removeAttribute('aria-busy'));
});

/*
 * A form that was sent belongs to this visit of its page. When the browser returns to the visit, it requests the page
 * again and restores the old entries, so the form also needs its old id: otherwise its work would be done a second time.
 */

const returned = performance.getEntriesByType('navigation')[0].type === 'back_forward';
if (returned) restoreIds();
else if (history.state?.sent) history.replaceState({ ...history.state, sent: {} }, '');

function rememberSent(form, id = form.elements.form_id.value) {
  // A form before a sign-in may be sent for several people.
  if (!form.elements.form_token) return;
  history.replaceState({ ...history.state, sent: { ...history.state?.sent, [keyOf(form)]: id } }, '');
}

function restoreIds() {
  for (const form of document.querySelectorAll('form[method=post]')) {
    const id = history.state?.sent?.[keyOf(form)];
    if (id) form.elements.form_id.value = id;
  }
}

/** Identifies a form on a page that was drawn again: by its address, and the values that are the same on each drawing. */
function keyOf(form) {
  const given = [...form.querySelectorAll('input[type=hidden]:not([autocomplete=off])')];
  return JSON.stringify([form.getAttribute('action'), ...given.map(({ name, value }) => [name, value])]);
}

/** Gives a form a new id, after which it can be sent for other work. */
function renewId(form) {
  form.elements.form_id.value = newFormId(form);
  rememberSent(form, null);
}

/* The playground shows results beside the form. After an answer, the form gets a new id; without an answer, it keeps
   its id, so that sending it again does not repeat the work. */

document.addEventListener('htmx:beforeSwap', ({ detail }) => {
  if (!isForm(detail) || detail.xhr.status < 400) return;
  detail.shouldSwap = true;
  detail.isError = false;
});

document.addEventListener('htmx:afterRequest', ({ detail }) => {
  if (!isForm(detail)) return;
  const { elt: form } = detail.requestConfig;
  const { status } = detail.xhr;
  form.removeAttribute('aria-busy');
  if (status > 0 && status < 400) startAnew(form);
  if (status === 0) showProblem(document.querySelector('#result'), form.dataset.unanswered);
});

/** Gives the form a new id, and removes earlier problems and faults. */
function startAnew(form) {
  renewId(form);
  for (const words of form.parentElement.querySelectorAll('.problem, .fault')) words.remove();
  for (const field of form.querySelectorAll('[aria-invalid]')) field.removeAttribute('aria-invalid');
}

document.addEventListener('htmx:afterSwap', ({ detail }) => {
  if (isForm(detail)) detail.target.scrollIntoView({ block: 'nearest' });
});

function isForm({ requestConfig }) {
  return requestConfig.elt instanceof HTMLFormElement;
}

/* Entries survive a sign-in: when the browser leaves a page, the tab keeps its entries until the sign-in is over. */

const DRAFT = 'draft';
const here = location.pathname + location.search;

function typedFields() {
  const fields = [...document.querySelectorAll('form[method=post] :is(input, textarea, select)[name]')];
  return fields.filter(({ type }) => !['hidden', 'password', 'file', 'search'].includes(type));
}

addEventListener('pagehide', () => {
  if (here.startsWith('/console/sign-in')) return;
  const values = typedFields().map(({ type, checked, value }) => (type === 'checkbox' ? checked : value));
  const path = location.pathname + location.search;
  sessionStorage.setItem(DRAFT, JSON.stringify({ path, values, isForSignIn: false }));
});

function restoreDraft() {
  const draft = JSON.parse(sessionStorage.getItem(DRAFT) ?? '{}');
  if (here.startsWith('/console/sign-in')) {
    return sessionStorage.setItem(DRAFT, JSON.stringify({ ...draft, isForSignIn: true }));
  }
  sessionStorage.removeItem(DRAFT);
  const fields = typedFields();
  if (!draft.isForSignIn || draft.path !== here || draft.values.length !== fields.length) return;
  fields.forEach((field, at) => {
    if (field.type === 'checkbox') field.checked = draft.values[at];
    else field.value = draft.values[at];
  });
  for (const form of document.querySelectorAll('form[method=post]')) announceChange(form);
}
restoreDraft();

/* A page that the browser restores has no request in progress. */
addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form[aria-busy]')) form.removeAttribute('aria-busy');
});

/** Makes another id with the time of the form's id: `domain/ids.ts`. */
function newFormId(form) {
  const random = Array.from(crypto.getRandomValues(new Uint8Array(11)), (byte) => byte.toString(16).padStart(2, '0'));
  return form.elements.form_id.value.slice(0, -22) + random.join('');
}

/* Uploads chosen pictures immediately, one after the other; the server answers with their thumbnails. */

async function upload(area, files) {
  const [list, problem] = [area.querySelector('.thumbnails'), area.querySelector('[data-problem]')];
  problem.replaceChildren();
  area.setAttribute('aria-busy', 'true');
  for (const file of files) {
    const body = new FormData();
    body.append('file', file);
    const headers = {
      'x-form-token': area.dataset.token,
      'x-form-id': newFormId(area.closest('form')),
      'hx-request': 'true',
    };
    try {
      const response = await fetch(area.dataset.drop, { method: 'POST', headers, body });
      const signIn = response.headers.get('hx-redirect');
      if (signIn) return location.assign(signIn);
      (response.ok ? list : problem).insertAdjacentHTML('beforeend', await response.text());
    } catch {
      problem.textContent = area.dataset.failed;
    }
  }
  area.removeAttribute('aria-busy');
  announceChange(area);
}

/** Announces a change, which updates the price. */
function announceChange(element) {
  element.dispatchEvent(new Event('change', { bubbles: true }));
}

document.addEventListener('change', ({ target }) => {
  const maxBytes = Number(target.dataset.maxBytes);
  if (!maxBytes) return;
  const isTooLarge = [...target.files].some(({ size }) => size > maxBytes);
  target.setCustomValidity(isTooLarge ? target.dataset.tooLarge : '');
  target.reportValidity();
});

function areaOf({ target }) {
  return target instanceof Element ? target.closest('[data-drop]') : null;
}

document.addEventListener('dragover', (event) => {
  if (areaOf(event)) event.preventDefault();
});
document.addEventListener('drop', (event) => {
  const area = areaOf(event);
  if (!area) return;
  event.preventDefault();
  void upload(area, [...event.dataTransfer.files]);
});
document.addEventListener('change', (event) => {
  const area = areaOf(event);
  if (!area || event.target.type !== 'file') return;
  void upload(area, [...event.target.files]);
  event.target.value = '';
});
document.addEventListener('click', (event) => {
  const button = event.target instanceof Element ? event.target.closest('[data-remove]') : null;
  if (!button) return;
  const area = areaOf(event);
  button.closest('li').remove();
  area?.querySelector('input').focus();
  if (area) announceChange(area);
});

/* Streamed answers of text models: https://html.spec.whatwg.org/multipage/server-sent-events.html */

const FRAME_END = /\r?\n\r?\n/;

async function ask(form) {
  const card = document.querySelector('#answer');
  const [reasoning, text, cost] = ['reasoning', 'text', 'cost'].map((name) => card.querySelector(`[data-${name}]`));
  const stop = form.querySelector('[data-stop]');
  const leaving = new AbortController();
  stop.addEventListener('click', () => leaving.abort(), { once: true });
  for (const element of [reasoning, text, cost]) element.replaceChildren();
  card.hidden = stop.hidden = false;
  card.scrollIntoView({ block: 'nearest' });
  text.setAttribute('aria-busy', 'true');
  try {
    const headers = { accept: 'text/event-stream' };
    const body = new URLSearchParams(new FormData(form));
    const response = await fetch(form.action, { method: 'POST', headers, body, signal: leaving.signal });
    if (response.redirected) return location.assign(response.url);
    if (!response.ok) throw new Error((await response.json()).error.message);
    for await (const delta of deltasOf(response.body)) {
      reasoning.append(delta.reasoning_content ?? '');
      text.append(delta.content ?? '');
    }
    const spent = await fetch(form.dataset.costAt + response.headers.get('x-request-id'), {
      headers: { 'hx-request': 'true' },
    });
    if (spent.ok) cost.innerHTML = await spent.text();
    keepAsked(form, text.textContent);
  } catch (error) {
    if (!leaving.signal.aborted) showProblem(cost, error instanceof TypeError ? form.dataset.broken : error.message);
  } finally {
    text.removeAttribute('aria-busy');
    stop.hidden = true;
    renewId(form);
  }
}

/* The tab keeps the last questions and answers of the playground until the session ends. The server keeps neither. */

const ASKED = 'asked';
const MAX_ASKED = 10;

function readAsked() {
  const asked = JSON.parse(sessionStorage.getItem(ASKED) ?? '{}');
  return asked.path === location.pathname ? asked.entries : [];
}

function keepAsked({ elements }, answer) {
  const [prompt, system] = [elements.prompt.value, elements.system.value];
  const entries = [{ model: elements.model.value, prompt, system, answer }, ...readAsked()].slice(0, MAX_ASKED);
  try {
    sessionStorage.setItem(ASKED, JSON.stringify({ path: location.pathname, entries }));
  } catch {
    // The answers exceed the browser's limit for storage.
    sessionStorage.removeItem(ASKED);
  }
  showAsked();
}

function showAsked() {
  if (here.startsWith('/console/sign-in')) return sessionStorage.removeItem(ASKED);
  const card = document.querySelector('#asked');
  const entries = card ? readAsked() : [];
  if (entries.length === 0) return;
  card.hidden = false;
  card.querySelector('[data-list]').replaceChildren(
    ...entries.map(({ model, prompt, system, answer }) => {
      const [entry, head, text, again] = ['details', 'summary', 'p', 'button'].map((tag) =>
        document.createElement(tag),
      );
      head.textContent = `${model}: ${prompt}`;
      [text.className, text.textContent] = ['answer', answer];
      [again.type, again.className, again.textContent] = ['button', 'quiet', card.dataset.again];
      again.addEventListener('click', () => {
        const { elements } = document.querySelector('#playground');
        elements.prompt.value = prompt;
        if (elements.system) elements.system.value = system;
        elements.prompt.focus();
        announceChange(elements.prompt);
      });
      entry.append(head, text, again);
      return entry;
    }),
  );
}

/** @throws Error with the server's message if the answer breaks off */
async function* deltasOf(stream) {
  let rest = '';
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split(FRAME_END);
    rest = frames.pop();
    for (const frame of frames) {
      const data = frame.startsWith('data:') ? frame.slice(5).trim() : '';
      if (data === '' || data === '[DONE]') continue;
      const { error, choices = [] } = JSON.parse(data);
      if (error) throw new Error(error.message);
      if (choices[0]?.delta) yield choices[0].delta;
    }
  }
}

function showProblem(place, message) {
  const problem = document.createElement('p');
  problem.className = 'problem';
  problem.role = 'alert';
  problem.textContent = message;
  place.replaceChildren(problem);
}

/** Shows the elements that need the script. htmx calls this function for new parts, too. */
function showScripted(root) {
  for (const area of root.querySelectorAll('[data-drop]')) area.hidden = false;
}
showScripted(document);
showAsked();
document.addEventListener('htmx:load', (event) => showScripted(event.target));

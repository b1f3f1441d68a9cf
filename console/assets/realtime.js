/* A conversation by voice over a WebSocket, with a client secret: contract 4.16. */
const SAMPLES_PER_SECOND = 24_000;
/** A response to speech may start before the result of a function is there. */
const HARMLESS = new Set(['conversation_already_has_active_response', 'response_cancel_not_active']);
const TOOLS = { local_time: () => new Date().toString() };

const form = document.querySelector('#realtime');
const card = document.querySelector('#conversation');
const [state, problem, transcript] = ['state', 'problem', 'transcript'].map((name) =>
  card.querySelector(`[data-${name}]`),
);
const [start, stop] = form.querySelectorAll('button');

form.addEventListener('submit', (event) => {
  event.preventDefault();
  // The console's own script would send the form.
  event.stopPropagation();
  start.disabled = true;
  problem.replaceChildren();
  transcript.replaceChildren();
  state.textContent = card.dataset.connecting;
  converse().catch((error) => fail(error.name === 'NotAllowedError' ? card.dataset.noMicrophone : error.message));
});

function fail(message) {
  showProblem(problem, message);
  state.textContent = card.dataset.ended;
  start.disabled = false;
}

async function converse() {
  const microphone = await openMicrophone();
  try {
    const { value, model } = await createSecret();
    const address = `${location.origin.replace(/^http/, 'ws')}/v1/realtime?model=${encodeURIComponent(model)}`;
    const socket = new WebSocket(address, ['realtime', `openai-insecure-api-key.${value}`]);
    await hold(socket, await openAudio(microphone, (piece) => sendTo(socket, piece)));
  } finally {
    for (const track of microphone.getTracks()) track.stop();
  }
}

async function openMicrophone() {
  // Browsers have no devices on pages without TLS.
  if (!navigator.mediaDevices) throw new Error(card.dataset.noMicrophone);
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true } });
  } catch {
    throw new Error(card.dataset.noMicrophone);
  }
}

async function createSecret() {
  const response = await fetch(form.action, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams(new FormData(form)),
  });
  if (response.redirected) return location.assign(response.url);
  const body = await response.json();
  if (!response.ok) throw new Error(body.error.message);
  return body;
}

/** Plays one piece after the other, and passes on what the microphone hears. */
async function openAudio(microphone, heard) {
  const audio = new AudioContext({ sampleRate: SAMPLES_PER_SECOND });
  await audio.audioWorklet.addModule('/console/assets/microphone.js');
  const worklet = new AudioWorkletNode(audio, 'microphone');
  worklet.port.addEventListener('message', ({ data }) => heard(data));
  worklet.port.start();
  audio.createMediaStreamSource(microphone).connect(worklet).connect(audio.destination);
  const playing = new Set();
  let endsAt = 0;
  return {
    play: (pcm) => {
      const buffer = audio.createBuffer(1, pcm.length, SAMPLES_PER_SECOND);
      buffer.copyToChannel(
        Float32Array.from(pcm, (sample) => sample / 32_768),
        0,
      );
      const source = audio.createBufferSource();
      source.buffer = buffer;
      source.connect(audio.destination);
      endsAt = Math.max(endsAt, audio.currentTime);
      source.start(endsAt);
      endsAt += buffer.duration;
      playing.add(source);
      source.addEventListener('ended', () => playing.delete(source));
    },
    silence: () => {
      for (const source of playing) source.stop();
      endsAt = 0;
    },
    close: () => audio.close(),
  };
}

/** Holds the conversation until a side ends it. */
async function hold(socket, audio) {
  const end = () => socket.close(1000);
  stop.addEventListener('click', end, { once: true });
  show(stop, start);
  socket.addEventListener('message', ({ data }) => receive(JSON.parse(data), socket, audio));
  const { code } = await new Promise((resolve) => socket.addEventListener('close', resolve, { once: true }));
  stop.removeEventListener('click', end);
  start.disabled = false;
  show(start, stop);
  state.textContent = card.dataset.ended;
  // An error event before has the reason. A refusal or a broken connection has none.
  if (code !== 1000 && problem.childElementCount === 0) showProblem(problem, card.dataset.broken);
  await audio.close();
}

function show(button, other) {
  button.hidden = false;
  button.focus();
  other.hidden = true;
}

function receive(event, socket, audio) {
  switch (event.type) {
    case 'session.created':
      state.textContent = card.dataset.listening;
      return;
    case 'input_audio_buffer.speech_started':
      audio.silence();
      return;
    case 'input_audio_buffer.committed':
      lineOf(event.item_id, card.dataset.you).append(card.dataset.heard);
      return;
    case 'response.output_audio.delta':
      audio.play(new Int16Array(bytesOf(event.delta).buffer));
      return;
    case 'response.output_audio_transcript.delta':
    case 'response.output_text.delta':
      lineOf(event.item_id, card.dataset.model).append(event.delta);
      return;
    case 'response.function_call_arguments.done':
      return answerCall(event, socket);
    case 'error':
      if (!HARMLESS.has(event.error.code)) showProblem(problem, event.error.message);
  }
}

function answerCall({ item_id: itemId, call_id: callId, name }, socket) {
  const output = TOOLS[name]?.() ?? 'unknown function';
  lineOf(itemId, card.dataset.tool).append(`${name}: ${output}`);
  sendTo(socket, { type: 'conversation.item.create', item: { type: 'function_call_output', call_id: callId, output } });
  const answerNext = ({ data }) => {
    if (JSON.parse(data).type !== 'response.done') return;
    socket.removeEventListener('message', answerNext);
    sendTo(socket, { type: 'response.create' });
  };
  socket.addEventListener('message', answerNext);
}

/** Sends an event, or a piece of sound. */
function sendTo(socket, given) {
  if (socket.readyState !== WebSocket.OPEN) return;
  const event =
    given instanceof ArrayBuffer
      ? { type: 'input_audio_buffer.append', audio: btoa(String.fromCharCode(...new Uint8Array(given))) }
      : given;
  socket.send(JSON.stringify(event));
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** The text of an item of the conversation. */
function lineOf(id, speaker) {
  const known = [...transcript.children].find(({ dataset }) => dataset.item === id);
  if (known) return known.lastElementChild;
  const [line, name, text] = ['p', 'strong', 'span'].map((tag) => document.createElement(tag));
  line.dataset.item = id;
  name.textContent = `${speaker}: `;
  line.append(name, text);
  transcript.append(line);
  line.scrollIntoView({ block: 'nearest' });
  return text;
}

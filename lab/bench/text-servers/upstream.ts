/**
 * An upstream that costs almost nothing: it answers every chat completion with the same bytes. A stream has 200 chunks
 * with a pause between them, of N milliseconds for `"user": "pause-N"` in the request; each has its send time.
 * Argument: port.
 */
import { createServer, type ServerResponse } from 'node:http';

const CHUNKS = 200;

const head = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'textd-v2.5' };
const usage = { prompt_tokens: 120, completion_tokens: CHUNKS, total_tokens: 120 + CHUNKS };
const message = { role: 'assistant', content: 'word '.repeat(CHUNKS) };
const whole = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage,
});
const [beforeTime = '', afterTime = ''] = frame({
  choices: [{ index: 0, delta: { role: 'assistant', content: 'sent at TIME ' }, finish_reason: null }],
}).split('TIME');
const ending =
  frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
  frame({ choices: [], usage }) +
  'data: [DONE]\n\n';

function frame(fields: object): string {
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields })}\n\n`;
}

function stream(response: ServerResponse, pauseMs: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let sent = 0;
  const next = (): void => {
    if (response.destroyed) return;
    sent += 1;
    if (sent > CHUNKS) return void response.end(ending);
    response.write(beforeTime + (performance.timeOrigin + performance.now()).toFixed(3) + afterTime);
    setTimeout(next, pauseMs);
  };
  next();
}

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => (body += text));
  request.on('end', () => {
    const pause = /"user":"pause-(\d+)"/.exec(body)?.[1];
    if (pause !== undefined) return stream(response, Number(pause));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length }).end(whole);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1');

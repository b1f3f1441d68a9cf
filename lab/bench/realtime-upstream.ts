/**
 * An upstream of realtime sessions that costs almost nothing: each response is a series of the same audio deltas, with
 * their send times. The response's `metadata` sets their number and the pause between them. Calls have no media.
 * Argument: port.
 */
import { createServer } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';

/** 200 ms of PCM at 24 kHz, in base64. */
const AUDIO = Buffer.alloc(9_600, 7).toString('base64');
const usage = { total_tokens: 110, input_tokens: 10, output_tokens: 100 };

interface ClientEvent {
  readonly type: string;
  readonly session?: object;
  readonly response?: { readonly metadata?: Readonly<Record<string, string>> };
}

function respond(socket: WebSocket, metadata: Readonly<Record<string, string>>): void {
  const response = { id: 'resp_1', object: 'realtime.response', metadata };
  const send = (event: object): void => socket.send(JSON.stringify({ event_id: 'event_1', ...event }));
  send({ type: 'response.created', response: { ...response, status: 'in_progress' } });
  let left = Number(metadata['deltas'] ?? 0);
  const next = (): void => {
    if (socket.readyState !== socket.OPEN) return;
    if (left === 0) return send({ type: 'response.done', response: { ...response, status: 'completed', usage } });
    left -= 1;
    const sentAt = performance.timeOrigin + performance.now();
    send({ type: 'response.output_audio.delta', response_id: 'resp_1', sent_at: sentAt, delta: AUDIO });
    setTimeout(next, Number(metadata['pause_ms'] ?? 0));
  };
  next();
}

const http = createServer((request, response) => {
  request.resume().once('end', () => {
    const isCall = request.method === 'POST' && request.url?.startsWith('/v1/realtime/calls') === true;
    const isOpening = isCall && request.url?.endsWith('/hangup') !== true;
    if (isOpening) {
      response.writeHead(201, { 'content-type': 'application/sdp', location: '/v1/realtime/calls/call_1' });
    }
    response.end(isOpening ? 'v=0\r\n' : '{}');
  });
});
const server = new WebSocketServer({ server: http, perMessageDeflate: false });
server.on('connection', (socket) => {
  socket.on('error', () => socket.terminate());
  socket.send(JSON.stringify({ type: 'session.created', event_id: 'event_0', session: { type: 'realtime' } }));
  socket.on('message', (data: Buffer) => {
    const { type, session, response } = JSON.parse(data.toString()) as ClientEvent;
    if (type === 'session.update')
      socket.send(JSON.stringify({ type: 'session.updated', event_id: 'event_1', session }));
    if (type === 'response.create') respond(socket, response?.metadata ?? {});
  });
});
http.listen(Number(process.argv[2]), '127.0.0.1');

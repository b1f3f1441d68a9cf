/**
 * A webhook receiver in TypeScript with nothing but Node.
 *
 *   WEBHOOK_SECRET=whsec_… npx tsx docs/examples/webhook-receiver.ts
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';

interface TaskEvent {
  id: string;
  type: 'task.succeeded' | 'task.failed';
  data: { id: string; output: { media: { url: string }[] } | null; error_message: string | null };
}

const SECRET = process.env['WEBHOOK_SECRET'] ?? '';
const PORT = Number(process.env['PORT'] ?? 3000);
const TOLERANCE_SECONDS = 300;
const MAX_BODY_BYTES = 1024 * 1024;

/** Events already handled; a real receiver keeps these ids in its database. */
const handled = new Set<string>();

if (SECRET === '') throw new Error('set WEBHOOK_SECRET to the secret that POST /v1/webhooks returned');

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.writeHead(400).end(),
  );
});

server.listen(PORT, '127.0.0.1', () => {
  const address = server.address();
  console.log(`listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : PORT}`);
});

/** Handles one delivery; returns the status to answer with. */
async function receive(request: IncomingMessage): Promise<number> {
  // 1. The raw bytes, before anything parses them.
  const body = await readBody(request);
  if (body === null) return 413;

  // 2. and 3. Who sent them, and when: `invalid_signature` otherwise.
  if (!isGenuine(request, body)) return 401;

  // 4. An event may come more than once: its id stays the same.
  const event: TaskEvent = JSON.parse(body.toString());
  if (!handled.has(event.id)) {
    handled.add(event.id);
    console.log(event.type, event.data.id, event.data.output?.media[0]?.url ?? event.data.error_message);
  }

  // 5. Answer quickly; do slow work afterwards.
  return 204;
}

function isGenuine(request: IncomingMessage, body: Buffer): boolean {
  const timestamp = String(request.headers['x-svc-timestamp'] ?? '');
  const signature = String(request.headers['x-svc-signature'] ?? '');
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d+$/.test(timestamp) || ageSeconds > TOLERANCE_SECONDS) return false;
  const expected = Buffer.from(createHmac('sha256', SECRET).update(`${timestamp}.`).update(body).digest('hex'));
  const received = Buffer.from(signature);
  return received.length === expected.length && timingSafeEqual(received, expected);
}

/** Null when the body is larger than any event. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > MAX_BODY_BYTES) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

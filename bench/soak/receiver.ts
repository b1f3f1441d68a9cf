/** A webhook receiver that takes everything at once and remembers what it was sent. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import Joi from 'joi';
import { verifySignature } from '../../net/webhook-signature.ts';

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly taskId: string;
  /** The last part of the address that it was sent to. */
  readonly path: string;
  readonly isSigned: boolean;
}

export interface SoakReceiver {
  /** Addresses of endpoints are this, a slash and a path. */
  readonly url: string;
  /** Every delivery, in the order in which they came. */
  readonly events: readonly ReceivedEvent[];
  /** Resolves when the task has been told of, or with the signal. */
  readonly told: (taskId: string, signal: AbortSignal) => Promise<void>;
  /** The secret of the endpoint under a path, known when it has been made. */
  setSecret(path: string, secret: string): void;
  close(): Promise<void>;
}

const eventSchema = Joi.object<{ id: string; type: string; data: { id: string } }>({
  id: Joi.string().required(),
  type: Joi.string().required(),
  data: Joi.object({ id: Joi.string().required() }).unknown(true).required(),
}).unknown(true);

export async function startSoakReceiver(): Promise<SoakReceiver> {
  const events: ReceivedEvent[] = [];
  const secrets = new Map<string, string>();
  const arrivals = new EventEmitter();
  // One listener a task that is under way, above the number that Node takes for a leak.
  arrivals.setMaxListeners(0);

  async function receive(incoming: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
    const body = Buffer.concat(chunks);
    const path = (incoming.url ?? '').slice(1);
    const isSigned = verifySignature({
      secret: secrets.get(path) ?? '',
      timestamp: String(incoming.headers['x-svc-timestamp']),
      signature: String(incoming.headers['x-svc-signature']),
      body,
      nowSeconds: Math.floor(Date.now() / 1000),
    });
    const { id, type, data } = Joi.attempt(JSON.parse(body.toString('utf8')), eventSchema.required());
    events.push({ id, type, taskId: data.id, path, isSigned });
    arrivals.emit(data.id);
  }

  const server = createServer((incoming, response) => {
    receive(incoming).then(
      () => response.writeHead(204).end(),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    events,
    told: async (taskId, signal) => {
      if (events.some((event) => event.taskId === taskId)) return;
      await once(arrivals, taskId, { signal }).catch(() => undefined);
    },
    setSecret: (path, secret) => void secrets.set(path, secret),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The events that the receiver got: each event once, with its number of deliveries, and the invalid ones. */
import type { IncomingMessage } from 'node:http';
import Joi from 'joi';
import { verifySignature } from '../../domain/webhook-signature.ts';

/** One event with all its deliveries. */
export interface ReceivedEvent {
  readonly id: string;
  /** The last part of the address that it was sent to. */
  readonly path: string;
  /** The first body. */
  readonly body: string;
  /** When it first arrived, in milliseconds since 1970. */
  readonly seenAtMs: number;
  /** How often it was accepted, and how often it was refused. */
  accepted: number;
  refused: number;
  /** When it was accepted for the first and the last time, in milliseconds since 1970; null until then. */
  acceptedAtMs: number | null;
  lastAcceptedAtMs: number | null;
}

export class Inbox {
  /** The secrets of the endpoints, by path. */
  readonly secrets = new Map<string, string>();
  readonly events = new Map<string, ReceivedEvent>();
  /** A bad signature, or another body under an id. */
  readonly complaints: string[] = [];

  /** Records one delivery. @returns its event */
  note({ url = '', headers }: IncomingMessage, body: string): ReceivedEvent {
    const path = url.slice(1);
    const id = String(headers['webhook-id']);
    const isSigned = verifySignature({
      secret: this.secrets.get(path) ?? '',
      timestamp: String(headers['x-svc-timestamp']),
      signature: String(headers['x-svc-signature']),
      body,
      nowSeconds: Math.floor(Date.now() / 1000),
    });
    if (!isSigned) this.complaints.push(`${id} to ${path} had no valid signature`);
    // An event goes to each endpoint under the same id.
    const key = `${path} ${id}`;
    const known = this.events.get(key);
    if (known && known.body !== body) this.complaints.push(`${id} to ${path} came with another body than before`);
    const event = known ?? newEvent(id, path, body);
    this.events.set(key, event);
    return event;
  }
}

interface TaskEvent {
  readonly type: string;
  readonly data: { readonly id: string; readonly status: string; readonly completed_at: number };
}

const TASK = { id: Joi.string(), status: Joi.string(), completed_at: Joi.number() };
const TASK_EVENT = Joi.object<TaskEvent>({ type: Joi.string(), data: Joi.object(TASK).unknown(true) }).unknown(true);

/** Reads the body of an event of a final task. */
export function readEvent(body: string): TaskEvent {
  return Joi.attempt(JSON.parse(body), TASK_EVENT, { presence: 'required', convert: false });
}

function newEvent(id: string, path: string, body: string): ReceivedEvent {
  const seenAtMs = Date.now();
  return { id, path, body, seenAtMs, accepted: 0, refused: 0, acceptedAtMs: null, lastAcceptedAtMs: null };
}

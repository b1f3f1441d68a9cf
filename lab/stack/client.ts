/** HTTP as clients and operators of a stack speak it. */
import { Agent, request } from 'undici';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** When the last byte arrived, in milliseconds since 1970. */
  readonly endedAtMs: number;
}

export interface Question {
  /** An API key or an admin token; none for the simulator. */
  readonly token?: string;
  /** Sent as JSON, or as it is if it is a form with its own headers; a POST. */
  readonly body?: object | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const TIMEOUT_MS = 30_000;

const agent = new Agent({ headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });

/** Asks, and reads the answer to its end. @throws Error when there was no whole answer */
export async function ask(url: string, { token, body, headers }: Question = {}): Promise<Answer> {
  const response = await request(url, {
    method: body === undefined ? 'GET' : 'POST',
    dispatcher: agent,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
  });
  const text = await response.body.text();
  return { status: response.statusCode, headers: response.headers, text, endedAtMs: Date.now() };
}

/** As {@link ask}; null when there was no whole answer. */
export async function tryToAsk(url: string, question: Question): Promise<Answer | null> {
  return ask(url, question).catch(() => null);
}

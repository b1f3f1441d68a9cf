/** Calls of the API, as a client makes them. */
import Joi from 'joi';
import { Agent, request } from 'undici';

type Item = Readonly<Record<string, unknown>>;

/** What a create call answers; the fields that other calls answer are empty texts. */
interface Created {
  readonly id: string;
  readonly api_key: string;
  readonly secret: string;
}

export interface Client {
  /** @throws Error for any other answer than 201 */
  readonly post: (path: string, token: string, body: object) => Promise<Created>;
  /** All pages of a list. @throws Error for an answer that is no list */
  readonly list: (path: string, token: string) => Promise<readonly Item[]>;
  readonly close: () => Promise<void>;
}

const CONNECTIONS = 32;
const LARGEST_PAGE = 500;

const created = Joi.object<{ data: Created }>({
  data: Joi.object({
    id: Joi.string().required(),
    api_key: Joi.string().default(''),
    secret: Joi.string().default(''),
  })
    .unknown(true)
    .required(),
}).required();
const page = Joi.object<{ data: Item[]; next_cursor: string | null }>({
  data: Joi.array().items(Joi.object()).required(),
  next_cursor: Joi.string().allow(null).required(),
}).required();

export function createClient(baseUrl: string): Client {
  const agent = new Agent({ connections: CONNECTIONS });

  async function call(path: string, token: string, body?: object): Promise<{ status: number; answer: unknown }> {
    const { statusCode, body: answer } = await request(baseUrl + path, {
      method: body === undefined ? 'GET' : 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: statusCode, answer: await answer.json() };
  }

  return {
    async post(path, token, body) {
      const { status, answer } = await call(path, token, body);
      if (status !== 201) throw new Error(`POST ${path} answered ${status}: ${JSON.stringify(answer)}`);
      return Joi.attempt(answer, created).data;
    },
    async list(path, token) {
      const items: Item[] = [];
      let cursor: string | null = '';
      do {
        const { answer } = await call(`${path}?limit=${LARGEST_PAGE}&cursor=${cursor}`, token);
        const { data, next_cursor: next } = Joi.attempt(answer, page);
        items.push(...data);
        cursor = next;
      } while (cursor !== null);
      return items;
    },
    close: () => agent.close(),
  };
}

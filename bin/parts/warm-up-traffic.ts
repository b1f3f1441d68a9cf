/** What the warm-up sends, and the upstream, the model, the caller and the money that it uses in place of real ones. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import pino from 'pino';
import type { Catalogue, TextModel } from '../../catalogue/types.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import type { TextBilling } from '../../db/text-money/billing.ts';
import { holdText } from '../../db/text-money/holds.ts';
import { newId } from '../../domain/ids.ts';
import type { JsonObject } from '../../domain/json.ts';
import { parseUsd } from '../../domain/money.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../domain/wire-format-name.ts';
import type { ResponseStore } from '../../services/text/stored-responses.ts';

/** The upstream, its key, and the credential of the requests. It opens nothing else. */
export const NAME = 'warm-up';
const HOST = '127.0.0.1';
const QUESTION = 'Tell me something about the lighthouses of the world. '.repeat(10);
const WORDS = Array.from({ length: 30 }, (_, index) => ` word ${index}`);

/** A request of a format, for the model with a route of a format. */
export interface Trial {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

const BODIES: Readonly<Record<WireFormatName, (model: string, stream: boolean) => Trial>> = {
  'chat-completions': (model, stream) => ({
    path: '/v1/chat/completions',
    headers: {},
    body: { model, stream, messages: [{ role: 'user', content: QUESTION }] },
  }),
  responses: (model, stream) => ({ path: '/v1/responses', headers: {}, body: { model, stream, input: QUESTION } }),
  messages: (model, stream) => ({
    path: '/v1/messages',
    headers: { 'msgfmt-version': '2023-06-01' },
    body: { model, stream, max_tokens: 100, messages: [{ role: 'user', content: QUESTION }] },
  }),
  'generate-content': (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    headers: {},
    body: { contents: [{ role: 'user', parts: [{ text: QUESTION }] }] },
  }),
};

/** @param route the format of the upstream */
export function trialOf(format: WireFormatName, route: WireFormatName, isStream: boolean): Trial {
  return BODIES[format](modelName(route), isStream);
}

function modelName(route: WireFormatName): string {
  return `${NAME}-${route}`;
}

/** The current catalogue with a model for each format of upstreams in place of all text models; null without any. */
export function warmUpCatalogue(catalogue: Catalogue): Catalogue | null {
  const paid = [...catalogue.textModels.values()].find(({ free, formats }) => !free && !formats.includes('embeddings'));
  if (!paid) return null;
  const models = WIRE_FORMAT_NAMES.map((format): [string, TextModel] => {
    const id = modelName(format);
    const route = { provider: NAME, format, model: id, order: 1, weight: 1 };
    return [id, { ...paid, id, compatibility: 'full', formats: WIRE_FORMAT_NAMES, routes: [route] }];
  });
  return { ...catalogue, textModels: new Map(models) };
}

/** A caller who is not in the database. */
export function warmUpCaller(): Caller {
  const accountId = newId('account');
  const now = new Date();
  return {
    key: {
      id: newId('apiKey'),
      accountId,
      name: NAME,
      hint: '',
      used: 0n,
      usedOfLimit: 0n,
      reserved: 0n,
      usageLimit: null,
      limitPeriod: null,
      models: null,
      ipAllowlist: null,
      rateLimitRpm: null,
      deletedAt: null,
      disabledAt: null,
      expiresAt: null,
      lastUsedAt: now,
      createdAt: now,
    },
    account: {
      id: accountId,
      toppedUpAt: now,
      suspendedAt: null,
      prices: [],
      budgetsVersion: 0,
      responseMinutes: 0,
    },
  };
}

/** Grants every hold, and records nothing. */
export function warmUpBilling(): TextBilling {
  const ledger = {
    metrics: { usageClamped: () => {}, textPossiblyLost: () => {}, textUnsettled: () => {} },
    log: pino({ level: 'silent' }),
    allowances: {
      hold: () => ({ refusal: null, amount: parseUsd(1), window: null, settle: async () => {}, release: () => {} }),
    },
  };
  return { hold: (charge) => holdText(charge, ledger) };
}

export const NO_STORED_RESPONSES: ResponseStore = {
  complete: async (body) => ({ body, previousId: null }),
  store: async () => {},
  find: async () => null,
  remove: async () => false,
  stop: async () => {},
};

export interface WarmUpUpstream {
  readonly url: string;
  /** Adds the answer to requests whose path and body contain these texts. */
  answer(trial: Trial, isStream: boolean, body: string): void;
  stop(): Promise<void>;
}

/** An upstream that speaks chat completions, and after {@link WarmUpUpstream.answer} other formats. */
export async function startWarmUpUpstream(): Promise<WarmUpUpstream> {
  const answers = new Map<string, string>();
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const path = request.url?.split('?')[0] ?? '';
      const isStream = body.includes('"stream":true') || path.endsWith(':streamGenerateContent');
      const answer = answers.get(`${path} ${isStream}`) ?? (isStream ? STREAMED_CHAT : WHOLE_CHAT);
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      // In parts, as over a network.
      const middle = answer.indexOf('\n\n', answer.length / 2) + 2;
      response.write(answer.slice(0, middle));
      setImmediate(() => response.end(answer.slice(middle)));
    });
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://${HOST}:${port}`,
    answer: ({ path }, isStream, body) => void answers.set(`${path.split('?')[0]} ${isStream}`, body),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const HEAD = { id: 'chatcmpl-1', created: 1_790_000_000, model: NAME };
const USAGE = { prompt_tokens: 120, completion_tokens: WORDS.length, total_tokens: 120 + WORDS.length };
const WHOLE_CHAT = JSON.stringify({
  ...HEAD,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: WORDS.join('') }, finish_reason: 'stop' }],
  usage: USAGE,
});
const STREAMED_CHAT = [
  ...WORDS.map((content) => chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  chunk({ choices: [], usage: USAGE }),
  'data: [DONE]\n\n',
].join('');

function chunk(fields: object): string {
  return `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', ...fields })}\n\n`;
}

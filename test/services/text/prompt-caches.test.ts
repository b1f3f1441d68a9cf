/** Cache writes of models with full compatibility at an upstream that speaks messages: reported, charged, recorded. */
import { expect } from 'chai';
import { sumDailyUsage } from '../../../db/queries/daily-usage.ts';
import { isObject, type JsonObject } from '../../../domain/json.ts';
import { completeRates, type TextPricing, boundText, priceText } from '../../../domain/pricing.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { ASK, type TestText, textModel, useTestText } from '../../support/text.ts';

const PRICING: TextPricing = {
  rates: completeRates({
    input: 1_000_000n,
    cachedInput: 100_000n,
    cacheWrite: 1_250_000n,
    cacheWrite1h: 2_000_000n,
    output: 5n,
  }),
  tiers: [],
  peaks: [],
};
/** Genway forwards the bodies of its messages clients, and converts those of others. */
const MODEL = textModel('cached', [{ format: 'messages', autoCache: true }], {
  compatibility: 'full',
  pricing: PRICING,
  reasoning: false,
});
const AUTO = textModel('auto-cached', [{ format: 'messages', autoCache: true }], {
  compatibility: 'full',
  pricing: PRICING,
});
const SPECIFIED = textModel('by-specification', [{ format: 'messages' }], { pricing: PRICING });

/** Long enough for the tokens that the upstream reports. */
const PROMPT = `[sim:say=Hello,prompt=1000,cached=100] What is this? ${'Words. '.repeat(500)}`;
const marked = (ttl?: string): JsonObject => ({
  type: 'text',
  text: PROMPT,
  cache_control: { type: 'ephemeral', ...(ttl !== undefined && { ttl }) },
});
/** The body of a client that marks its prompt; null where its format has no marks. */
const MARKED: Readonly<Record<WireFormatName, ((mark: JsonObject) => JsonObject) | null>> = {
  'chat-completions': (mark) => ({ messages: [{ role: 'user', content: [mark] }] }),
  responses: null,
  messages: (mark) => ({ messages: [{ role: 'user', content: [mark] }] }),
  'generate-content': null,
};

/** The usage in an answer of each format that read 100 tokens of 1,000 from the cache and wrote the others. */
const TOLD: Readonly<Record<WireFormatName, (writtenForHour: number) => JsonObject>> = {
  'chat-completions': () => ({
    prompt_tokens: 1_000,
    prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 900 },
  }),
  responses: () => ({
    input_tokens: 1_000,
    input_tokens_details: { cached_tokens: 100, cache_write_tokens: 900 },
  }),
  messages: (writtenForHour) => ({
    input_tokens: 0,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 900,
    cache_creation: { ephemeral_5m_input_tokens: 900 - writtenForHour, ephemeral_1h_input_tokens: writtenForHour },
  }),
  'generate-content': () => ({ promptTokenCount: 1_000, cachedContentTokenCount: 100 }),
};

/** The last usage in an answer, whole or streamed. */
function usageIn(answer: string, stream: boolean): JsonObject {
  const events = stream ? answer.split('\n').filter((line) => line.startsWith('data: {')) : [`data: ${answer}`];
  const found = events.flatMap((line): JsonObject[] => {
    const event: unknown = JSON.parse(line.slice('data: '.length));
    const holder = isObject(event) && isObject(event['response']) ? event['response'] : event;
    const usage = isObject(holder) ? (holder['usage'] ?? holder['usageMetadata']) : null;
    return isObject(usage) ? [usage] : [];
  });
  const last = found.at(-1);
  if (last === undefined) throw new Error(`no usage in ${answer}`);
  return last;
}

async function rowsOf(text: TestText): Promise<readonly JsonObject[]> {
  await text.idle();
  return text.database('text_requests').orderBy('created_at', 'desc');
}

describe('tokens written to the cache of an upstream', () => {
  const text = useTestText({ models: [MODEL, AUTO, SPECIFIED] });

  const cases = WIRE_FORMAT_NAMES.flatMap((format) =>
    [false, true].flatMap((stream) =>
      [AUTO, MODEL].flatMap(({ id: model }) =>
        [undefined, ...(MARKED[format] === null ? [] : ['5m', '1h'])].map((ttl) => ({ format, stream, model, ttl })),
      ),
    ),
  );
  for (const { format, stream, model, ttl } of cases) {
    const how = `${format}, ${model}, ${stream ? 'streamed' : 'whole'}, ${ttl === undefined ? 'marked by Genway' : `for ${ttl}`}`;

    it(`are reported, charged and recorded: ${how}`, async () => {
      const { path, body } = ASK[format](model, PROMPT, stream);
      const response = await text.post(path, { ...body, ...(ttl !== undefined && MARKED[format]?.(marked(ttl))) });
      const answer = await response.text();
      expect(response.status, answer).to.equal(200);
      expect(response.headers.has('x-genway-ignored')).to.equal(false);
      const writtenForHour = ttl === '1h' ? 900 : 0;
      expect(usageIn(answer, stream)).to.deep.include(TOLD[format](writtenForHour));
      const [row] = await rowsOf(text);
      expect(row).to.include({
        input_tokens: '1000',
        cache_read_tokens: '100',
        cache_write_tokens: '900',
        cache_write_1h_tokens: String(writtenForHour),
      });
      const outputTotal = Number(row?.['output_tokens']);
      const used = { inputTotal: 1_000, cacheRead: 100, cacheWrite: 900, cacheWrite1h: writtenForHour, outputTotal };
      expect(row).to.include({ charge: priceText(PRICING, used, 0).charge.toString(), excess: '0' });
      const [seen] = await text.seen(1);
      const ttls = [
        ...JSON.stringify(seen?.body).matchAll(/"cache_control":\{"type":"ephemeral"(?:,"ttl":"(\w+)")?\}/g),
      ];
      expect(ttls.map(([, sent]) => sent)).to.deep.equal([ttl]);
    });
  }

  it('have a hold at the higher price only if they may be kept for an hour', async () => {
    for (const [ttl, isCachedFor1h] of [
      ['5m', false],
      ['1h', true],
    ] as const) {
      const body = { ...ASK.messages(MODEL.id, PROMPT, false).body, ...MARKED.messages?.(marked(ttl)) };
      expect((await text.post('/v1/messages', body)).status).to.equal(200);
      const [row] = await rowsOf(text);
      const charge = text.charges.at(-1);
      const noVoice = { hasAudioInput: false, hasAudioOutput: false, characters: 0, audioSeconds: 0 };
      const most = { ...noVoice, maxInputTokens: charge?.maxInputTokens ?? 0, isCachedFor1h };
      const { input, perOutputToken } = boundText(PRICING, most, 0);
      expect(row).to.include({ held: (input + 1_000n * perOutputToken).toString() });
    }
  });

  it('are kept for five minutes, and charged accordingly, by a model with the compatibility of the specification', async () => {
    for (const ttl of ['1h', '2h']) {
      const body = { ...ASK.messages(SPECIFIED.id, PROMPT, false).body, ...MARKED.messages?.(marked(ttl)) };
      const response = await text.post('/v1/messages', body);
      expect(usageIn(await response.text(), false)).to.deep.include(TOLD.messages(0));
      expect((await rowsOf(text))[0]).to.include({ cache_write_tokens: '900', cache_write_1h_tokens: '0' });
    }
  });

  it('are refused with a lifetime that does not exist, by its path and without charge', async () => {
    for (const format of ['chat-completions', 'messages'] as const) {
      const before = text.charges.length;
      const { path, body } = ASK[format](MODEL.id, PROMPT, false);
      const response = await text.post(path, { ...body, ...MARKED[format]?.(marked('2h')) });
      expect(response.status).to.equal(400);
      const field = 'messages[0].content[0].cache_control.ttl';
      expect(await response.text()).to.include(JSON.stringify(`"${field}" must be one of: [5m 1h]`).slice(1, -1));
      expect(text.charges).to.have.length(before);
    }
  });

  it('tokens written to a cache are in the daily sums', async () => {
    const rows = await rowsOf(text);
    const { account_id: accountId } = await text.database('text_requests').first('account_id');
    const period = { accountId, from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 60_000) };
    const sums = await sumDailyUsage(text.database, period);
    const total = (counts: readonly bigint[]): bigint => counts.reduce((sum, count) => sum + count, 0n);
    const recorded = rows.map((row) => BigInt(String(row['cache_write_1h_tokens'])));
    expect(total(sums.map((sum) => sum.cacheWrite1hTokens))).to.equal(total(recorded));
    expect(total(recorded) > 0n).to.equal(true);
  });
});

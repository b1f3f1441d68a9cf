/** Several answers to one request from upstreams that return one per call: Genway calls once for each. */
import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import { CATALOGUE } from '../../support/catalogue.ts';
import type { WireFormatName } from '../../../domain/wire-format-name.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { completeRates, type TextPricing, priceText } from '../../../domain/pricing.ts';
import { parseRational } from '../../../domain/rational.ts';
import type { TextResult } from '../../../text/canonical.ts';
import { FORMATS } from '../../../text/formats.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { ASK, eventually, modelVia, textModel, useTestText } from '../../support/text.ts';
import { resultOf } from '../../text/answers.ts';
import { answerOfStream, eventsOfText } from '../../text/support.ts';

/** The field of each format for the number of answers. */
const SEVERAL = {
  'chat-completions': (n: number): JsonObject => ({ n }),
  'generate-content': (candidateCount: number): JsonObject => ({ generationConfig: { candidateCount } }),
};
type Client = keyof typeof SEVERAL;
const CLIENTS = ['chat-completions', 'generate-content'] as const;
const VIA = ['messages', 'responses'] as const;

/** Prompts beyond 1,000 tokens cost twice as much. */
const TIERED: TextPricing = {
  rates: completeRates({
    input: 1_000_000n,
    cachedInput: 1_000_000n,
    cacheWrite: 1_000_000n,
    cacheWrite1h: 1_000_000n,
    output: 2_000_000n,
  }),
  tiers: [{ thresholdTokens: 1_000, applies: 'over', factor: parseRational('2') }],
  peaks: [],
};

type Script = (stream: boolean) => RequestListener;

function eventsOf(text: string, output: number): readonly JsonObject[] {
  return [
    { type: 'message_start', message: { usage: { input_tokens: 600, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: output } },
    { type: 'message_stop' },
  ];
}

const framesOf = (events: readonly JsonObject[]): string =>
  events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const says =
  (text: string, output: number): Script =>
  (stream) =>
  (_request, response) => {
    const usage = { input_tokens: 600, output_tokens: output };
    const content = [{ type: 'text', text }];
    const whole = { type: 'message', role: 'assistant', content, stop_reason: 'end_turn', usage };
    response.end(stream ? framesOf(eventsOf(text, output)) : JSON.stringify(whole));
  };
const fails: Script = () => (_request, response) => void response.writeHead(500).end('{}');
const breaksOff: Script = () => (request, response) => {
  response.write(framesOf(eventsOf('half', 9).slice(0, 3)), () => request.socket.destroySoon());
};

describe('several answers from an upstream that returns one per call', () => {
  /** The answers of the scripted upstream, in order. */
  let scripts: readonly Script[] = [];
  let calls = 0;
  let open = 0;
  let mostOpen = 0;

  const upstream = useScriptedUpstream((request, response, body) => {
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    response.once('close', () => (open -= 1));
    const script = scripts[calls] ?? says('more', 1);
    calls += 1;
    script(Object(JSON.parse(body)).stream === true)(request, response);
  });
  const text = useTestText(() => ({
    upstreams: [{ name: 'scripted', apiKeys: ['k'], baseUrls: upstream.baseUrls }],
    models: [textModel('scripted', [{ format: 'messages', provider: 'scripted' }], { pricing: TIERED })],
  }));

  beforeEach(() => {
    text.resumeUpstreams();
    text.outcomes.length = 0;
    text.charges.length = 0;
    [scripts, calls, mostOpen] = [[], 0, 0];
  });

  function ask(client: Client, model: string, prompt: string, count: number, stream: boolean): Promise<Response> {
    const { path, body } = ASK[client](model, prompt, stream);
    return text.post(path, { ...body, ...SEVERAL[client](count) });
  }

  function read(client: WireFormatName, stream: boolean, body: string): TextResult {
    const format = FORMATS[client];
    return stream ? answerOfStream(format, body) : resultOf(format.upstream.parseResult(JSON.parse(body)));
  }

  const textsOf = ({ choices }: TextResult): readonly string[] =>
    choices.map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''));

  /** The record of the last request. */
  async function record(): Promise<Record<string, unknown>> {
    await text.idle();
    const [row] = await text.database('text_requests').orderBy('id', 'desc').limit(1);
    return row;
  }

  for (const client of CLIENTS) {
    for (const via of VIA) {
      for (const stream of [false, true]) {
        it(`are choices of one ${stream ? 'stream' : 'whole answer'} of ${client} from ${via}, whose usage is charged`, async () => {
          // contract 4.8:37 4.8:38 4.8.1:10
          const response = await ask(client, modelVia(via), 'Say exactly: Hi!\n[sim:prompt=21,cached=5]', 3, stream);
          expect(response.status).to.equal(200);
          const body = await response.text();
          const answer = read(client, stream, body);
          expect(answer.choices).to.have.length(3);
          for (const said of textsOf(answer)) expect(said).to.contain('Hi!');
          expect(answer.usage).to.include({ inputTotal: 63, cacheRead: 15 });
          const row = await record();
          expect(row).to.include({ calls: 3, outcome: 'succeeded', input_tokens: '63', cache_read_tokens: '15' });
          expect(row['output_tokens']).to.equal(String(answer.usage.outputTotal));
          const pricing = CATALOGUE.textModels.get('textg-6-sol')?.pricing ?? TIERED;
          const used = {
            inputTotal: 63,
            cacheRead: 15,
            cacheWrite: 0,
            cacheWrite1h: 0,
            outputTotal: Number(row['output_tokens']),
          };
          expect(row['charge']).to.equal(
            priceText(pricing, used, Number(text.charges[0]?.startedAtMs)).charge.toString(),
          );
          if (!stream || client !== 'chat-completions') return;
          const events = eventsOfText(body).map(({ data }) => data);
          expect(events.filter((data) => data === '[DONE]')).to.have.length(1);
          const chunks = events.slice(0, -1).map((data) => Object(JSON.parse(data)));
          expect(new Set(chunks.map(({ id }) => id))).to.have.property('size', 1);
          expect(chunks.filter(({ usage }) => usage !== null)).to.have.length(1);
          const finished = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.finish_reason !== null);
          expect(finished.map(({ index }) => index)).to.deep.equal([0, 1, 2]);
        });
      }
    }
  }

  it('are items of one array on the native format', async () => {
    const { body } = ASK['generate-content'](modelVia('responses'), 'Hi', true);
    const path = `/v1beta/models/${modelVia('responses')}:streamGenerateContent`;
    const items: unknown = await (await text.post(path, { ...body, ...SEVERAL['generate-content'](2) })).json();
    const candidates = Object(items).flatMap((item: { candidates: readonly JsonObject[] }) => item.candidates);
    const finished = candidates.filter((candidate: JsonObject) => candidate['finishReason'] !== undefined);
    expect(finished.map((candidate: JsonObject) => candidate['index'])).to.deep.equal([0, 1]);
  });

  it('are held for with the prompt of each call, and priced by the length of one prompt', async () => {
    // contract 4.8:38
    scripts = [says('one', 10), says('two', 20)];
    const response = await ask('chat-completions', 'scripted', 'Hi', 2, false);
    expect(textsOf(read('chat-completions', false, await response.text()))).to.deep.equal(['one', 'two']);
    const row = await record();
    expect(row).to.include({ calls: 2, input_tokens: '1200', output_tokens: '30', modifiers: null });
    // 1,200 × 1 and 30 × 2 micro-USD: no prompt is beyond 1,000 tokens.
    expect(row['charge']).to.equal(String(1_200_000_000 + 60_000_000));
    const [charge] = text.charges;
    expect(charge).to.include({ choiceCount: 2, callCount: 2 });
  });

  for (const stream of [false, true]) {
    it(`are ${stream ? 'streamed' : 'made'} at the same time once the first has started, at most five at once`, async () => {
      // contract 4.8:37
      const waiting: (() => void)[] = [];
      /** Answers when four calls are waiting. */
      const together: Script = (isStream) => (request, response) => {
        waiting.push(() => says('more', 1)(isStream)(request, response));
        if (waiting.length === 4) for (const answer of waiting.splice(0)) answer();
      };
      scripts = [says('first', 1), ...Array.from({ length: 8 }, () => together)];
      const response = await ask('chat-completions', 'scripted', 'Hi', 9, stream);
      expect(textsOf(read('chat-completions', stream, await response.text())))
        .to.have.length(9)
        .and.include('first');
      expect(mostOpen).to.be.within(4, 5);
      const many = await ask('chat-completions', 'scripted', 'Hi', 128, stream);
      expect(read('chat-completions', stream, await many.text()).choices).to.have.length(128);
      expect(mostOpen).to.be.within(4, 5);
    });

    it(`fail together without charge when one ${stream ? 'breaks off in a stream' : 'fails'}, and close the other calls`, async () => {
      // contract 4.8:39 8.3:11
      const hangs: Script = () => () => {};
      scripts = [says('one', 10), stream ? breaksOff : fails, hangs, hangs, hangs];
      const response = await ask('chat-completions', 'scripted', 'Hi', 9, stream);
      const body = await response.text();
      expect(response.status).to.equal(stream ? 200 : 503);
      expect(body).to.contain('"error":');
      expect(body).to.not.contain('[DONE]');
      expect(await record()).to.include({ outcome: 'failed', charge: '0', calls: 5 });
      await eventually(() => open === 0);
      expect(calls).to.be.at.most(5);
    });
  }

  it('repeat a call that was refused for a moment, over the same route', async () => {
    const busy: Script = () => (_request, response) => void response.writeHead(503).end('{}');
    scripts = [says('one', 10), busy, says('two', 20)];
    const response = await ask('chat-completions', 'scripted', 'Hi', 2, true);
    expect(textsOf(read('chat-completions', true, await response.text()))).to.deep.equal(['one', 'two']);
    expect(await record()).to.include({ outcome: 'succeeded', calls: 2, output_tokens: '30' });
  });

  it('are charged as far as they had started when the client leaves', async () => {
    // contract 8.3:12
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const waits: Script = (isStream) => (request, response) =>
      void held.then(() => says('two', 20)(isStream)(request, response));
    scripts = [says('one', 10), waits, waits, waits, waits, says('never', 30)];
    const leaving = new AbortController();
    const { path, body } = ASK['chat-completions']('scripted', 'Hi', true);
    const response = await text.post(path, { ...body, n: 7 }, { signal: leaving.signal });
    await response.body?.getReader().read();
    await eventually(() => calls === 5);
    leaving.abort();
    await new Promise((resolve) => setTimeout(resolve, 50));
    release();
    expect(await record()).to.include({ outcome: 'disconnected', calls: 5, input_tokens: '3000', output_tokens: '90' });
    expect(calls).to.equal(5);
  });
});

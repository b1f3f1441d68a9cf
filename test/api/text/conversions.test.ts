/** Every format against upstreams of every format, whole and streamed. */
import { expect } from 'chai';
import { TEXT_FORMATS, type TextFormat } from '../../../catalogue/types.ts';
import type { JsonObject } from '../../../text/canonical.ts';
import { FORMATS } from '../../../text/formats.ts';
import { resultOf } from '../../../text/collect.ts';
import { answerOfStream } from '../../text/support.ts';
import { modelVia, startTestText, type TestText } from '../../support/text.ts';

/** How a client of each format asks for a model with one sentence. */
export const ASK: Readonly<
  Record<TextFormat, (model: string, prompt: string, stream: boolean) => { path: string; body: JsonObject }>
> = {
  'chat-completions': (model, prompt, stream) => ({
    path: '/v1/chat/completions',
    body: {
      model,
      stream,
      messages: [{ role: 'user', content: prompt }],
      stream_options: stream ? { include_usage: true } : null,
    },
  }),
  responses: (model, prompt, stream) => ({ path: '/v1/responses', body: { model, stream, input: prompt } }),
  messages: (model, prompt, stream) => ({
    path: '/v1/messages',
    body: { model, stream, max_tokens: 1000, messages: [{ role: 'user', content: prompt }] },
  }),
  'generate-content': (model, prompt, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: prompt }] }] },
  }),
};

describe('text endpoints', () => {
  let text: TestText;

  before(async () => {
    text = await startTestText();
  });

  after(() => text.stop());

  for (const client of TEXT_FORMATS) {
    for (const upstream of TEXT_FORMATS) {
      it(`answer ${client} from an upstream that speaks ${upstream}, whole and as a stream`, async () => {
        const prompt = 'Say exactly: Grüße, "World"!\n[sim:prompt=21,cached=5,reasoning=2]';
        const whole = ASK[client](modelVia(upstream), prompt, false);
        const response = await text.post(whole.path, whole.body);
        expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
        const answer = resultOf(FORMATS[client].upstream.parseResult(await response.json()));
        const streamed = ASK[client](modelVia(upstream), prompt, true);
        const stream = await text.post(streamed.path, streamed.body);
        expect(stream.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
        const streamedAnswer = answerOfStream(FORMATS[client], await stream.text());
        for (const { choices, usage } of [answer, streamedAnswer]) {
          const texts = choices[0]?.parts.map((part) => (part.type === 'text' ? part.text : ''));
          expect(texts?.join('')).to.equal(prompt.slice('Say exactly: '.length));
          expect(choices[0]?.finish).to.deep.equal({ reason: 'stop' });
          expect(usage).to.include({ inputTotal: 21, cacheRead: 5 });
        }
        expect(streamedAnswer.usage).to.deep.equal(answer.usage);
        await text.idle();
        for (const outcome of text.outcomes.splice(0)) {
          expect(outcome).to.deep.include({
            status: 'succeeded',
            errorCode: null,
            upstream: { provider: 'simulator', format: upstream },
          });
          expect(outcome.usage).to.include({ inputTotal: 21, cacheRead: 5, outputTotal: answer.usage.outputTotal });
        }
      });
    }
  }
});

/** Every format against upstreams of every format, whole and streamed. */
import { expect } from 'chai';
import { TEXT_FORMATS } from '../../../catalogue/types.ts';
import { FORMATS } from '../../../text/formats.ts';
import { resultOf } from '../../../text/collect.ts';
import { answerOfStream } from '../../text/support.ts';
import { modelVia, startTestText, type TestText } from '../../support/text.ts';

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
        const response = await text.ask(client, modelVia(upstream), prompt);
        expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
        const answer = resultOf(FORMATS[client].upstream.parseResult(await response.json()));
        const stream = await text.ask(client, modelVia(upstream), prompt, { stream: true });
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

/** A token bound below the vendor's minimum: the charge respects it, and so does a converted answer. */
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { ASK, modelVia, useTestText } from '../../support/text.ts';

const BOUND = {
  'chat-completions': { max_tokens: 3 },
  responses: { max_output_tokens: 3 },
  messages: { max_tokens: 3 },
  'generate-content': { generationConfig: { maxOutputTokens: 3 } },
} as const;
const CUT = /"finish_reason":"length"|"status":"incomplete"|"stop_reason":"max_tokens"|"finishReason":"MAX_TOKENS"/;

describe('a bound below the vendor’s minimum', () => {
  const text = useTestText();

  for (const format of WIRE_FORMAT_NAMES) {
    for (const stream of [false, true]) {
      it(`limits the charge for ${stream ? 'a stream' : 'a whole answer'} of ${format}, which is cut where it is converted`, async () => {
        const prompt = 'Say exactly: one two three four five six seven eight [sim:reasoning=0]';
        const { path, body } = ASK[format](modelVia('responses'), prompt, stream);
        const answer = await (await text.post(path, { ...body, ...BOUND[format] })).text();
        if (format === 'responses') {
          // A forwarded answer stays unchanged; its usage holds the charged tokens.
          expect(answer).to.contain('four').and.contain('"max_output_tokens":3').and.contain('"output_tokens":3');
          expect(answer).to.not.contain('"max_output_tokens":16');
        } else {
          expect(answer).to.match(CUT);
          expect(answer).to.contain('one').and.contain('three').and.not.contain('four');
        }
        await text.idle();
        const [seen] = await text.seen(1);
        expect(seen?.body['max_output_tokens']).to.equal(16);
        const row: unknown = await text.database('text_requests').orderBy('id', 'desc').first('output_tokens');
        expect(row).to.deep.equal({ output_tokens: '3' });
      });
    }
  }
});

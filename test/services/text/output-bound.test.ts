/** A token bound below the vendor's minimum: the charge and the answer respect it. */
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { ASK, eventually, modelVia, useTestText } from '../../support/text.ts';

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
      it(`limits the charge for ${stream ? 'a stream' : 'a whole answer'} of ${format}, which is cut`, async () => {
        const prompt = 'Say exactly: one two three four five six seven eight [sim:reasoning=0]';
        const { path, body } = ASK[format](modelVia('responses'), prompt, stream);
        const answer = await (await text.post(path, { ...body, ...BOUND[format] })).text();
        // contract 4.8.2:32
        expect(answer).to.match(CUT);
        expect(answer).to.contain('one').and.contain('three').and.not.contain('four');
        expect(answer).to.not.contain('"max_output_tokens":16');
        await text.idle();
        const [seen] = await text.seen(1);
        expect(seen?.body['max_output_tokens']).to.equal(16);
        const row: unknown = await text.database('text_requests').orderBy('id', 'desc').first('output_tokens');
        expect(row).to.deep.equal({ output_tokens: '3' });
      });
    }
  }
});

describe('the charge of a stream', () => {
  const text = useTestText();

  it('is readable soon after the end of the stream, which does not wait for it', async () => {
    // contract 8.3:15
    const response = await text.ask('messages', modelVia('messages'), 'Hi', { stream: true });
    await response.text();
    const recorded = text.database('text_requests').where({ request_id: response.headers.get('x-request-id') });
    await eventually(async () => (await recorded.clone().select('outcome')).length === 1);
    expect(await recorded.first('outcome')).to.deep.equal({ outcome: 'succeeded' });
  });
});

import { expect } from 'chai';
import type { Answer } from '../../../providers/text/answer.ts';
import { CancelSignal } from '../../../providers/text/cancel-signal.ts';
import { answerFrom } from '../../../services/batches/job-calls.ts';
import { parseJson } from '../../../text/json/parse.ts';
import { Meter } from '../../../text/meter.ts';

describe('the answer of a job', () => {
  it('keeps the digits of large integers', async () => {
    // contract 4.8:60
    const written = '{"content":[{"type":"tool_use","input":{"id":2512292042121000001}}]}';
    const route = { provider: 'a', format: 'messages', model: 'm', order: 0, weight: 1 } as const;
    const result = { customId: 'c1', status: 200, body: await parseJson(Buffer.from(written)) };
    let read = '';
    await answerFrom(
      route,
      result,
    )({
      requestId: 'req_1',
      account: 'acc_1',
      body: {},
      routes: [route],
      affinity: '',
      isCached: false,
      maxAnswerTokens: null,
      streamed: false,
      signal: new CancelSignal(),
      left: new CancelSignal(),
      prepare: () => ({ upstreamRequest: { path: '', headers: {}, body: {} }, meter: new Meter() }),
      begin: async (answer: Answer) => {
        read = (await answer.readAll(1_000)).toString();
      },
      readOn: async () => {},
    });
    expect(read).to.equal(written);
  });
});

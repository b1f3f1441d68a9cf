import { expect } from 'chai';
import type { Answer } from '../../../providers/text/answer.ts';
import { CancelSignal } from '../../../providers/text/cancel-signal.ts';
import type { UpstreamRoute } from '../../../providers/text/candidates.ts';
import { answerFrom, keepRequest } from '../../../services/batches/job-calls.ts';
import { planExchange } from '../../../services/text/exchange.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { textModel } from '../../support/text.ts';
import { FORMATS } from '../../../text/formats.ts';
import { parseJson } from '../../../text/json/parse.ts';
import { Meter } from '../../../text/meter.ts';
import type { UpstreamRequest } from '../../../text/wire-format.ts';
import { renderContext } from '../../text/support.ts';

/** A call over a route, without its answer. */
function callOver<Route extends UpstreamRoute>(route: Route) {
  return {
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
    begin: async () => {},
    readOn: async () => {},
  };
}

describe('the request of a job', () => {
  it('asks for a whole answer, even at an upstream whose direct answers are always streams', async () => {
    const format = FORMATS['chat-completions'];
    const model = textModel('m', [{ format: format.name, streamsOnly: true }]);
    const [route] = model.routes;
    if (route === undefined) throw new Error('the model has no route');
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
    const read = { format, body, request: format.client.parseRequest(body, {}), model, streamsArray: false };
    const kept: UpstreamRequest[] = [];
    const call = keepRequest(route, (request) => void kept.push(request));
    await rejectionOf(
      call({
        ...callOver(route),
        prepare: (chosen) => planExchange(read, chosen, '', renderContext(), new Meter(), null),
      }),
    );
    expect(kept).to.have.length(1);
    expect(kept[0]?.body['stream']).to.not.equal(true);
  });
});

describe('the answer of a job', () => {
  it('keeps the digits of large integers', async () => {
    // contract 4.8:60
    const written = '{"content":[{"type":"tool_use","input":{"id":2512292042121000001}}]}';
    const route = { provider: 'a', format: 'messages', model: 'm', order: 0, weight: 1 } as const;
    const result = { customId: 'c1', status: 200, body: await parseJson(Buffer.from(written)) };
    let read = '';
    const call = answerFrom(route, result);
    await call({
      ...callOver(route),
      prepare: () => ({ upstreamRequest: { path: '', headers: {}, body: {} }, meter: new Meter() }),
      begin: async (answer: Answer) => {
        read = (await answer.readAll(1_000)).toString();
      },
    });
    expect(read).to.equal(written);
  });
});

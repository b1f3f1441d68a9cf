import { expect } from 'chai';
import type { StreamEvent, TextRequest } from '../../text/canonical.ts';
import { UNREPORTED_USAGE } from '../../text/canonical.ts';
import { resultText, SearchRounds } from '../../text/search-rounds.ts';
import { chain, runStage } from '../../text/stage.ts';

const REQUEST: TextRequest = {
  model: 'm',
  stream: false,
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'Where?' }] }],
  tools: [],
  sampling: {},
  webSearch: { field: 'tools.web_search', maxCalls: 3 },
};

function call(name: string, text: string, id = '1'): StreamEvent[] {
  return [
    { type: 'tool-input-start', id, callId: `call_${id}`, name },
    { type: 'tool-input-delta', id, text },
    { type: 'tool-input-end', id },
  ];
}

function answer(rounds: SearchRounds, round: number, events: readonly StreamEvent[]): StreamEvent[] {
  const start: StreamEvent = { type: 'response-start', id: null, model: null };
  const usage: StreamEvent = { type: 'usage', usage: { ...UNREPORTED_USAGE, inputTotal: 10, outputTotal: 1 } };
  const reason = events.some(({ type }) => type === 'tool-input-start') ? 'tool-calls' : 'stop';
  return runStage([start, ...events, usage, { type: 'finish', reason }], chain(rounds.record(), rounds.stage(round)));
}

const TEXT: StreamEvent[] = [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', text: 'There' },
  { type: 'text-end', id: 't' },
];

describe('rounds of searches', () => {
  it('keep the calls of searches from the client, and give it the sum of the usage with the searches', () => {
    const rounds = new SearchRounds(REQUEST, true);
    expect(answer(rounds, 0, call('web_search', '{"query":" trains "}'))).to.deep.equal([
      { type: 'response-start', id: null, model: null },
    ]);
    expect(rounds.wanted).to.deep.equal([{ callId: 'call_1', query: 'trains' }]);
    rounds.addResults([{ text: 'A page', isError: false }], 1);
    const { turns, toolChoice } = rounds.nextRequest(true, 5);
    expect(turns.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'tool']);
    expect(toolChoice).to.equal(undefined);
    const last = answer(rounds, 1, TEXT);
    expect(last.map(({ type }) => type)).to.deep.equal(['text-start', 'text-delta', 'text-end', 'usage', 'finish']);
    expect(last[3]).to.deep.include({
      usage: { ...UNREPORTED_USAGE, inputTotal: 20, outputTotal: 2, webSearches: 1 },
    });
    expect(rounds.isComplete).to.equal(true);
  });

  it('end with a call of the client’s own tools, and with a call in a round without searches', () => {
    const both = new SearchRounds({ ...REQUEST, tools: [{ name: 'look' }] }, true);
    const events = answer(both, 0, [...call('web_search', '{}'), ...call('look', '{}', '2')]);
    expect(events.map(({ type }) => type))
      .to.include('tool-input-start')
      .and.include('finish');
    expect(both.wanted).to.deep.equal([]);
    const refused = new SearchRounds(REQUEST, false);
    const finish = answer(refused, 0, call('web_search', '{"query":"a"}')).at(-1);
    expect(finish).to.deep.include({ type: 'finish', reason: 'stop' });
  });

  it('offer the search beside the client’s tools under a name of its own, and force it once', () => {
    const forced = { type: 'tool', name: 'web_search' } as const;
    const rounds = new SearchRounds({ ...REQUEST, tools: [{ name: 'web_search' }], toolChoice: forced }, true);
    const first = rounds.nextRequest(true, undefined);
    expect(first.tools.map(({ name }) => name)).to.deep.equal(['web_search', 'web_search_']);
    expect(first.toolChoice).to.deep.equal({ type: 'tool', name: 'web_search_' });
    const without = rounds.nextRequest(false, undefined);
    expect(without.tools.map(({ name }) => name)).to.deep.equal(['web_search']);
    expect(without.toolChoice).to.equal(undefined);
    expect(new SearchRounds(REQUEST, false).nextRequest(false, undefined).toolChoice).to.deep.equal({ type: 'none' });
  });

  it('take arguments without a query for an empty one, and cut a long one', () => {
    for (const [text, length] of [
      ['{"query":5}', 0],
      ['[1', 0],
      [JSON.stringify({ query: 'x'.repeat(100_000) }), 400],
    ] as const) {
      const rounds = new SearchRounds(REQUEST, true);
      answer(rounds, 0, call('web_search', text));
      expect(rounds.wanted[0]?.query).to.have.length(length);
    }
    expect(resultText({ query: 'a', results: [] })).to.include('nothing');
  });
});

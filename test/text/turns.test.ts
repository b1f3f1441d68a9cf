import { expect } from 'chai';
import type { AssistantPart, ToolCallPart, ToolResultPart, Turn } from '../../text/canonical.ts';
import { argumentsOf, hoistSystem, mergeNeighbours, pairToolResults, withoutFinalSpace } from '../../text/turns.ts';

const text = (value: string) => ({ type: 'text', text: value }) as const;
const call = (callId: string, json = '{}'): ToolCallPart => ({
  type: 'tool-call',
  callId,
  name: `tool_${callId}`,
  arguments: json,
});
const output = (callId: string): ToolResultPart => ({ type: 'tool-result', callId, content: [text(callId)] });

const step = (value: string): Turn[] => [
  { role: 'assistant', parts: [call('a')] },
  { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', name: 'tool_a', content: [text(value)] }] },
];

describe('turns', () => {
  it('join system text at the beginning, and keep later system text in its place', () => {
    // contract 4.8:22
    const user: Turn = { role: 'user', parts: [text('Hi')] };
    const turns: Turn[] = [
      { role: 'system', parts: [text('a'), text('b')] },
      user,
      { role: 'system', parts: [text('c')] },
    ];
    const later: Turn = { role: 'user', parts: [text('<system-reminder>\nc\n</system-reminder>')] };
    expect(hoistSystem(turns)).to.deep.equal({ system: 'a\n\nb', turns: [user, later] });
    expect(hoistSystem([user]).system).to.equal(null);
  });

  it('are merged when neighbours have the same role', () => {
    const turns: Turn[] = [
      { role: 'user', parts: [text('a')] },
      { role: 'user', parts: [text('b')] },
      { role: 'assistant', parts: [text('c')] },
    ];
    expect(mergeNeighbours(turns)).to.deep.equal([
      { role: 'user', parts: [text('a'), text('b')] },
      { role: 'assistant', parts: [text('c')] },
    ]);
  });

  it('lose white space at the end of an answer that the model should continue, and nowhere else', () => {
    const answer = (...parts: readonly AssistantPart[]): Turn => ({ role: 'assistant', parts });
    const before: Turn[] = [answer(text('a ')), { role: 'user', parts: [text('b ')] }];
    for (const [sent, trimmed] of [
      [answer(text('Answer: ')), answer(text('Answer:'))],
      [answer(text('1 '), text('2\n'), text(' ')), answer(text('1 '), text('2'))],
      [answer(text('a '), call('b')), answer(text('a '), call('b'))],
      [answer(text(' ')), answer(text(' '))],
    ] as const) {
      expect(withoutFinalSpace([...before, sent])).to.deep.equal([...before, trimmed]);
    }
    expect(withoutFinalSpace(before)).to.deep.equal(before);
  });

  it('have tool results in the order of the calls, right after them, with their names', () => {
    const turns: Turn[] = [
      { role: 'assistant', parts: [call('a'), call('b'), call('never_answered')] },
      { role: 'user', parts: [text('meanwhile')] },
      { role: 'tool', parts: [output('b')] },
      { role: 'tool', parts: [output('a'), output('orphan')] },
    ];
    expect(pairToolResults(turns)).to.deep.equal([
      turns[0],
      {
        role: 'tool',
        parts: [
          { ...output('a'), name: 'tool_a' },
          { ...output('b'), name: 'tool_b' },
        ],
      },
      turns[1],
      { role: 'tool', parts: [output('orphan')] },
    ]);
  });

  it('have the results of their own calls when ids are reused', () => {
    const turns = [...step('first'), ...step('second')];
    expect(pairToolResults(turns)).to.deep.equal(turns);
  });

  it('have each result once, if a client sends those of earlier calls again', () => {
    const second: Turn = { role: 'assistant', parts: [call('b')] };
    expect(
      pairToolResults([...step('first'), second, { role: 'tool', parts: [output('a'), output('b')] }]),
    ).to.deep.equal([...step('first'), second, { role: 'tool', parts: [{ ...output('b'), name: 'tool_b' }] }]);
  });

  it('have an object as the arguments of a call, which wraps arguments that are none', () => {
    expect(argumentsOf(call('a', '{"x":1}'))).to.deep.equal({ x: 1 });
    expect(argumentsOf(call('a', ' '))).to.deep.equal({});
    for (const json of ['[1]', '{', 'null']) {
      expect(argumentsOf(call('a', json))).to.deep.equal({ unreadable_arguments: json });
    }
  });
});

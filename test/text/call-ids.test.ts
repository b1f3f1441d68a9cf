import { expect } from 'chai';
import * as fc from 'fast-check';
import { callIdReplacements, withPortableCallIds, withUniqueCallIds } from '../../text/call-ids.ts';
import type { Turn } from '../../text/canonical.ts';
import { FORMATS } from '../../text/formats.ts';
import { textRequest } from './support.ts';

const PORTABLE = /^[A-Za-z0-9_-]{1,64}$/;

function exchange(callId: string): Turn[] {
  return [
    { role: 'assistant', parts: [{ type: 'tool-call', callId, name: 'look', arguments: '{}' }] },
    { role: 'tool', parts: [{ type: 'tool-result', callId, name: 'look', content: [{ type: 'text', text: callId }] }] },
  ];
}

function idsOf(turns: readonly Turn[]): string[] {
  return turns.flatMap(({ parts }) =>
    parts.flatMap((part: Turn['parts'][number]) => ('callId' in part ? part.callId : [])),
  );
}

/** Possible ids: valid, long, with other characters, with a common prefix, or looking like a replacement. */
const id = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom('call_1', 'a.b', 'a:b', 'a_b', 'a_b_2', '', 'x'.repeat(64)),
  fc.stringMatching(/^x{60,70}[ab]{0,3}$/),
);

describe('ids of tool calls', () => {
  it('become ids that every upstream accepts, distinct where they were distinct, in calls and results alike', () => {
    fc.assert(
      fc.property(fc.uniqueArray(id), (ids) => {
        const renamed = idsOf(withPortableCallIds(ids.flatMap(exchange)));
        expect(new Set(renamed).size).to.equal(ids.length);
        for (const [index, given] of ids.entries()) {
          const [call, result] = renamed.slice(index * 2);
          expect(call).to.match(PORTABLE).and.to.equal(result);
          if (PORTABLE.test(given)) expect(call).to.equal(given);
        }
      }),
    );
  });

  it('stay unchanged where all are accepted, without a copy of the conversation', () => {
    const turns = exchange('call_1');
    expect(withPortableCallIds(turns)).to.equal(turns);
  });

  it('keep the same replacements when the conversation grows', () => {
    const first = ['a.b', 'a:b', 'y'.repeat(70)].flatMap(exchange);
    const later = [...first, ...exchange('a;b')];
    expect([...callIdReplacements(later)].slice(0, 3)).to.deep.equal([...callIdReplacements(first)]);
  });

  it('are replaced in linear time', () => {
    const turns = Array.from({ length: 50_000 }, (_, index) => exchange('x'.repeat(64) + String(index))).flat();
    expect(callIdReplacements(turns).size).to.equal(50_000);
  });

  it('ids of tool calls are replaced in a forwarded responses request if another upstream started the conversation', () => {
    const callId = `${'x'.repeat(64)}.y`;
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'function_call', id: 'fc_1', call_id: callId, name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: callId, output: 'seen' },
    ];
    const body = { model: 'm', input };
    const { client, upstream } = FORMATS.responses;
    const sent = upstream.forwardRequest(body, client.parseRequest(body, {}), { model: 'm', apiKey: 'secret' });
    expect(sent.body['input']).to.deep.equal([
      input[0],
      { type: 'function_call', call_id: 'x'.repeat(64), name: 'look', arguments: '{}' },
      { ...input[2], call_id: 'x'.repeat(64) },
    ]);
  });

  it('become nine letters and digits for the models of Mistral, and stay where they are that already', () => {
    // contract 4.8:64
    const turns = ['call_1', 'D681PevKs', 'call_minted_0'].flatMap(exchange);
    for (const model of ['mistral-large-latest', 'devstral-2', 'mistralai/Ministral-3', 'codestral', 'open-mixtral']) {
      const [call = '', result, kept, , minted = ''] = idsOf(withPortableCallIds(turns, model));
      expect(call)
        .to.match(/^[A-Za-z0-9]{9}$/)
        .and.to.equal(result);
      expect(minted)
        .to.match(/^[A-Za-z0-9]{9}$/)
        .and.to.not.equal(call);
      expect(kept).to.equal('D681PevKs');
    }
    expect(withPortableCallIds(turns, 'gpt-6-sol')).to.equal(turns);
  });

  it('become distinct in requests to vendors that refuse repeated ones, each result with its call', () => {
    // contract 4.8:64
    const call = (callId: string) => ({ type: 'tool-call', callId, name: 'look', arguments: '{}' }) as const;
    const result = (callId: string, text: string) =>
      ({ type: 'tool-result', callId, content: [{ type: 'text', text }] }) as const;
    const turns: Turn[] = [
      { role: 'assistant', parts: [call('call_0'), call('call_0_2')] },
      { role: 'tool', parts: [result('call_0', 'a'), result('call_0_2', 'b')] },
      { role: 'assistant', parts: [call('call_0'), call('call_0'), call('call_1')] },
      { role: 'tool', parts: [result('call_0', 'c'), result('call_0', 'd'), result('call_1', 'e')] },
    ];
    const ids = ['call_0', 'call_0_2', 'call_0_3', 'call_0_4', 'call_1'];
    const unique = withUniqueCallIds(turns);
    expect(idsOf(unique.filter(({ role }) => role === 'assistant'))).to.deep.equal(ids);
    expect(idsOf(unique.filter(({ role }) => role === 'tool'))).to.deep.equal(ids);
    for (const { upstream } of [FORMATS.messages, FORMATS.converse]) {
      const { body } = upstream.buildRequest(textRequest({ turns }), { model: 'm', apiKey: 'secret' });
      for (const id of ids) expect(JSON.stringify(body).split(`"${id}"`)).to.have.length(3);
    }
  });
});

import { expect } from 'chai';
import { type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import type { AssistantPart, TextRequest, Turn } from '../../text/canonical.ts';
import { converse } from '../../text/converse/index.ts';
import { messages } from '../../text/messages/index.ts';
import { compact } from '../../text/read.ts';
import { signaturesOf } from '../../text/signatures.ts';
import type { UpstreamOptions, UpstreamRequest } from '../../text/wire-format.ts';
import { textRequest } from './support.ts';

const OPTIONS = { apiKey: 'secret', compatibility: 'full', reasons: true } as const;
const HIGH = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };

type Options = Pick<UpstreamOptions, 'model' | 'baseModel'>;

/** What both formats send for a request. */
function sentTo(options: Options, request: Partial<TextRequest>): readonly UpstreamRequest[] {
  return [messages, converse].map(({ upstream }) =>
    upstream.buildRequest(textRequest(request), { ...OPTIONS, ...options }),
  );
}

/** The thinking and the effort, which Converse has in a field of their own. */
function reasoningOf({ body }: UpstreamRequest): JsonObject {
  const { thinking, output_config } = objectOf(body['additionalModelRequestFields'] ?? body);
  return { ...(thinking !== undefined && { thinking }), ...(output_config !== undefined && { output_config }) };
}

/** The choice of tools as JSON. */
function choiceOf({ body }: UpstreamRequest): string {
  return JSON.stringify(body['tool_choice'] ?? objectOf(body['toolConfig'])['toolChoice']);
}

function forwarded(model: string, fields: JsonObject, origin?: string): UpstreamRequest {
  const body = { model: 'm', max_tokens: 20_000, messages: [{ role: 'user', content: 'Hi' }], ...fields };
  const request = messages.client.parseRequest(body, { compatibility: 'full' });
  return messages.upstream.forwardRequest(body, request, { ...OPTIONS, model, origin });
}

describe('a Claude model', () => {
  const budget = (tokens: number) => ({ thinking: { type: 'enabled', budget_tokens: tokens } });
  const [old, either, recent] = ['claude-sonnet-4-5', 'claude-opus-4-6', 'claude-sonnet-5'];

  // contract 4.8:56
  for (const [model, byEffort, byBudget] of [
    ['claude-3-7-sonnet-latest', budget(20_000), budget(4_000)],
    ['claude-sonnet-4@20250514', budget(20_000), budget(4_000)],
    ['claude-opus-4-1-20250805', budget(20_000), budget(4_000)],
    ['claude-sonnet-4-5@20250929', budget(20_000), budget(4_000)],
    ['eu.anthropic.claude-haiku-4-5-20251001-v1:0', budget(20_000), budget(4_000)],
    ['claude-opus-4-5', { ...budget(20_000), output_config: { effort: 'high' } }, budget(4_000)],
    ['anthropic.claude-opus-4-6-v1', HIGH, budget(4_000)],
    ['anthropic/claude-sonnet-4.6', HIGH, budget(4_000)],
    ['claude-opus-4-7', HIGH, { ...HIGH, output_config: { effort: 'low' } }],
    ['global.anthropic.claude-sonnet-5', HIGH, { ...HIGH, output_config: { effort: 'low' } }],
    ['claude-fable-5-1', HIGH, { ...HIGH, output_config: { effort: 'low' } }],
    ['my-claude', HIGH, budget(4_000)],
  ] as const) {
    it(`with the name ${model} gets an effort and a budget in the form that it accepts`, () => {
      const sampling = { maxOutputTokens: 20_001 };
      for (const sent of sentTo({ model }, { reasoningEffort: 'high', sampling })) {
        expect(reasoningOf(sent)).to.deep.equal(byEffort);
      }
      for (const sent of sentTo({ model }, { reasoningBudget: 4_000, sampling })) {
        expect(reasoningOf(sent)).to.deep.equal(byBudget);
      }
    });
  }

  it('whose name says nothing gets the form of the model that its route names', () => {
    for (const sent of sentTo({ model: 'my-claude', baseModel: old }, { reasoningEffort: 'medium' })) {
      expect(reasoningOf(sent)).to.deep.equal(budget(16_384));
    }
  });

  it('with budgets gets one by each effort, below the bound of the answer', () => {
    for (const [reasoningEffort, tokens] of [
      ['minimal', 4_096],
      ['low', 4_096],
      ['medium', 16_384],
      ['max', 32_768],
    ] as const) {
      const sampling = { maxOutputTokens: 64_000 };
      for (const sent of sentTo({ model: old }, { reasoningEffort, sampling })) {
        expect(reasoningOf(sent)).to.deep.equal(budget(tokens));
      }
    }
    const bounded = (maxOutputTokens: number) => ({ reasoningBudget: 4_000, sampling: { maxOutputTokens } });
    for (const sent of sentTo({ model: old }, bounded(2_000))) expect(reasoningOf(sent)).to.deep.equal(budget(1_999));
    for (const sent of sentTo({ model: old }, bounded(1_024))) expect(reasoningOf(sent)).to.deep.equal({});
  });

  it('gets a budget if a client of messages wants thinking without one, and other vendors get the client’s own form', () => {
    // contract 4.8.3:28
    const enabled = { thinking: { type: 'enabled' } };
    expect(reasoningOf(forwarded(old, enabled))).to.deep.equal({
      thinking: { type: 'enabled', budget_tokens: 19_999, display: 'summarized' },
    });
    for (const model of [either, recent]) {
      expect(reasoningOf(forwarded(model, enabled))).to.deep.equal({
        thinking: { type: 'adaptive', display: 'summarized' },
      });
    }
    expect(reasoningOf(forwarded('glm-5', enabled))).to.deep.equal(enabled);
  });

  it('does not think before a call that is forced, and omits the effort that it then has no place for', () => {
    const request = { tools: [{ name: 'look' }], toolChoice: { type: 'required' }, reasoningEffort: 'low' } as const;
    for (const sent of sentTo({ model: old }, request)) {
      expect(reasoningOf(sent)).to.deep.equal({});
      expect(sent.omitted).to.deep.equal(['reasoningEffort']);
    }
    for (const sent of sentTo({ model: either }, request)) {
      expect(reasoningOf(sent)).to.deep.equal({ output_config: { effort: 'low' } });
      expect(sent.omitted).to.deep.equal([]);
    }
  });

  it('reasons as little as it can if it always thinks and the client wants no thinking', () => {
    // contract 4.8:61
    const low = { output_config: { effort: 'low' } };
    for (const model of ['claude-fable-5', 'us.anthropic.claude-mythos-5-1']) {
      for (const sent of sentTo({ model }, { reasoningEffort: 'none' })) expect(reasoningOf(sent)).to.deep.equal(low);
      for (const sent of sentTo({ model }, { reasoningBudget: 0 })) expect(reasoningOf(sent)).to.deep.equal(low);
      expect(reasoningOf(forwarded(model, { thinking: { type: 'disabled' } }))).to.deep.equal(low);
      const high = { thinking: { type: 'disabled' }, output_config: { effort: 'high' } };
      expect(reasoningOf(forwarded(model, high))).to.deep.equal({ output_config: { effort: 'high' } });
    }
    for (const sent of sentTo({ model: 'claude-opus-5' }, { reasoningEffort: 'none' })) {
      expect(reasoningOf(sent)).to.deep.equal({ thinking: { type: 'disabled' } });
    }
  });

  it('chooses among calls if none can be required, and omits the choice of the client', () => {
    // contract 4.8:67
    const tools = [{ name: 'look' }];
    for (const toolChoice of [{ type: 'required' }, { type: 'tool', name: 'look' }] as const) {
      for (const sent of sentTo({ model: 'claude-fable-5-1' }, { tools, toolChoice, reasoningEffort: 'high' })) {
        expect(choiceOf(sent)).to.be.oneOf(['{"type":"auto"}', '{"auto":{}}']);
        expect(sent.omitted).to.include('toolChoice');
        expect(reasoningOf(sent)).to.deep.equal(HIGH);
      }
      for (const sent of sentTo({ model: 'claude-fable-5' }, { tools, toolChoice })) {
        expect(choiceOf(sent)).to.match(/any|look/);
        expect(sent.omitted).not.to.include('toolChoice');
      }
    }
    for (const sent of sentTo({ model: 'claude-fable-5-1' }, { tools, toolChoice: { type: 'none' } })) {
      expect(sent.omitted).not.to.include('toolChoice');
    }
  });

  it('gets a message of the user after an answer at the end if it continues no answers', () => {
    // contract 4.8:68
    const turns: readonly Turn[] = [
      { role: 'user', parts: [{ type: 'text', text: 'Count.' }] },
      { role: 'assistant', parts: [{ type: 'text', text: 'One, two' }] },
    ];
    const rolesIn = ({ body }: UpstreamRequest): unknown[] =>
      listOf(body['messages']).map((one) => objectOf(one)['role']);
    for (const model of ['claude-opus-4-6', 'anthropic.claude-sonnet-5']) {
      for (const sent of sentTo({ model }, { turns })) {
        expect(rolesIn(sent)).to.deep.equal(['user', 'assistant', 'user']);
        expect(JSON.stringify(sent.body)).to.contain('Continue.');
      }
    }
    for (const model of ['claude-sonnet-4-5', 'my-claude']) {
      for (const sent of sentTo({ model }, { turns })) expect(rolesIn(sent)).to.deep.equal(['user', 'assistant']);
    }
  });

  it('with a budget does not think after a call whose thinking is not its own, which it would refuse', () => {
    const call = { type: 'tool-call', callId: 'a', name: 'look', arguments: '{}' } as const;
    const thought = { type: 'reasoning', text: 'Hm.', signature: 'c2ln' } as const;
    const after = (...parts: readonly AssistantPart[]): readonly Turn[] => [
      { role: 'user', parts: [{ type: 'text', text: 'Look' }] },
      { role: 'assistant', parts },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content: [] }] },
    ];
    const wish = { reasoningBudget: 4_000, tools: [{ name: 'look' }] };
    for (const [options, turns, expected] of [
      [{ model: old }, after(call), {}],
      [{ model: either }, after({ ...thought, signature: undefined }, call), {}],
      [{ model: old }, after(thought, call), budget(4_000)],
      [{ model: recent }, after(call), { ...HIGH, output_config: { effort: 'low' } }],
      [{ model: 'my-claude' }, after(call), budget(4_000)],
      [{ model: old }, after({ type: 'text', text: 'Hi' }), budget(4_000)],
    ] as const) {
      for (const sent of sentTo(options, { ...wish, turns })) expect(reasoningOf(sent)).to.deep.equal(expected);
    }
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] };
    const use = { type: 'tool_use', id: 'a', name: 'look', input: {} };
    const think = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature });
    const answered = (signature: string) => [{ role: 'assistant', content: [think(signature), use] }, result];
    const { mark } = signaturesOf('one');
    const bodyOf = (signature: string) => ({ ...budget(4_000), messages: answered(signature) });
    expect(reasoningOf(forwarded(old, bodyOf(mark('c2ln')), 'one'))).to.deep.equal(budget(4_000));
    expect(reasoningOf(forwarded(old, bodyOf(mark('c2ln')), 'another'))).to.deep.equal({});
  });

  it('gets no temperature, top_p or top_k while it thinks', () => {
    for (const sent of sentTo(
      { model: either },
      { reasoningEffort: 'low', sampling: { temperature: 0.2, topP: 0.9 } },
    )) {
      expect(JSON.stringify(sent.body)).to.not.match(/temperature|top_?p/i);
      expect(sent.omitted).to.deep.equal(['temperature', 'topP', 'topK']);
    }
  });

  // contract 4.8:55
  for (const [model, kept, omitted] of [
    ['claude-3-5-haiku-20241022', { temperature: 0.7, topP: 0.9 }, []],
    ['claude-opus-4-20250514', { temperature: 0.7, topP: 0.9 }, []],
    ['anthropic.claude-opus-4-1-20250805-v1:0', { temperature: 0.7 }, ['topP']],
    ['claude-haiku-4-5@20251001', { temperature: 0.7 }, ['topP']],
    ['claude-sonnet-4-6', { temperature: 0.7 }, ['topP']],
    ['claude-opus-4-7', {}, ['temperature', 'topP', 'topK']],
    ['my-claude', { temperature: 0.7, topP: 0.9 }, []],
  ] as const) {
    it(`with the name ${model} gets of temperature and top_p what it accepts, also in the body of a client`, () => {
      const both = sentTo({ model }, { sampling: { temperature: 0.7, topP: 0.9 } });
      for (const sent of [...both, forwarded(model, { temperature: 0.7, top_p: 0.9 })]) {
        const { temperature, topP, top_p = topP } = objectOf(sent.body['inferenceConfig'] ?? sent.body);
        expect(compact({ temperature, topP: top_p })).to.deep.equal(kept);
        expect(sent.omitted).to.deep.equal(omitted);
      }
      expect(sentTo({ model }, { sampling: { topP: 0.9 } })[0]?.body['top_p']).to.equal(
        'temperature' in kept ? 0.9 : undefined,
      );
    });
  }

  describe('gets the body of a messages client', () => {
    const adaptive = { thinking: { type: 'adaptive' } };
    const effort = (level: string) => ({ output_config: { effort: level } });

    for (const [what, model, sent, expected, omitted = []] of [
      ['as it is', old, budget(4_000), budget(4_000)],
      ['as it is', recent, { ...adaptive, ...effort('low') }, { ...adaptive, ...effort('low') }],
      ['with a budget by its effort', old, { ...adaptive, ...effort('low') }, budget(4_096)],
      ['with the budget of the usual effort', old, adaptive, budget(19_999)],
      ['with an effort by its budget', recent, budget(16_000), { ...adaptive, ...effort('medium') }],
      ['without an effort', old, effort('low'), {}, ['reasoningEffort']],
    ] as const) {
      it(`${what}: ${JSON.stringify(sent)} for ${model}`, () => {
        const request = forwarded(model, sent);
        expect(reasoningOf(request)).to.containSubset(expected);
        expect(Object.keys(reasoningOf(request))).to.deep.equal(Object.keys(expected));
        expect(request.omitted).to.include.members(omitted);
      });
    }
  });
});

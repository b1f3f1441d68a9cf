import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import { adoptBody } from '../../../text/messages/adopt-body.ts';

const LINE = 'x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=36ee5;';
const instructions = { type: 'text', text: 'You write code.', cache_control: { type: 'ephemeral' } };

describe('the body of Claude Code', () => {
  const forms: readonly (readonly [name: string, sent: unknown, adopted: unknown])[] = [
    ['a block', [{ type: 'text', text: LINE }, instructions], [instructions]],
    ['the start of a block', [{ ...instructions, text: `${LINE}\n${instructions.text}` }], [instructions]],
    ['the start of a text', `${LINE}\n\nYou write code.`, 'You write code.'],
    ['all of a text', LINE, ''],
  ];
  for (const [name, system, adopted] of forms) {
    it(`loses the line about the agent, as ${name} of the system text`, () => {
      // contract 4.8.3:25
      expect(adoptBody({ model: 'm', system })).to.deep.equal({ model: 'm', system: adopted });
    });
  }

  it('has summaries of the vendor as text, and no marks of fallbacks', () => {
    // contract 4.8.3:29
    const content = [
      { type: 'compaction', content: 'So far.' },
      { type: 'compaction', content: null },
      { type: 'fallback' },
    ];
    const text = { type: 'text', text: 'Hi' };
    expect(adoptBody({ messages: [{ role: 'assistant', content: [...content, text] }] })).to.deep.equal({
      messages: [{ role: 'assistant', content: [{ type: 'text', text: 'So far.' }, text] }],
    });
    const others = {
      messages: [
        { role: 'user', content },
        { role: 'assistant', content: 'Hi' },
      ],
    };
    expect(adoptBody(others)).to.equal(others);
  });

  it('stays as it is without the line at its start', () => {
    // contract 4.8.3:25
    const bodies: readonly JsonObject[] = [
      {},
      { system: 'Be kind.' },
      { system: [] },
      { system: [instructions, { type: 'text', text: LINE }] },
      { system: `Explain:\n${LINE}` },
      { system: 1 },
    ];
    for (const body of bodies) expect(adoptBody(body)).to.equal(body);
  });
});

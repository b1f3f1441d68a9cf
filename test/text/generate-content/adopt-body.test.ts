import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import { adoptBody } from '../../../text/generate-content/adopt-body.ts';

const part = { text: 'Hello' };

describe('a native body of a script', () => {
  it('gets lists where it has one object, and no empty roles', () => {
    // contract 4.8.4:23
    const tool = { functionDeclarations: [{ name: 'look' }] };
    expect(
      adoptBody({ contents: { role: '', parts: part }, system_instruction: { parts: part }, tools: tool }),
    ).to.deep.equal({
      contents: [{ parts: [part] }],
      system_instruction: { parts: [part] },
      tools: [tool],
    });
    expect(adoptBody({ contents: [{ parts: part }], systemInstruction: { parts: part } })).to.deep.equal({
      contents: [{ parts: [part] }],
      systemInstruction: { parts: [part] },
    });
  });

  it('stays as it is otherwise', () => {
    // contract 4.8.4:23
    const bodies: readonly JsonObject[] = [
      {},
      { contents: 'Hello', tools: null },
      { contents: [{ role: 'user', parts: [part] }, 'Hello'], systemInstruction: { parts: [part] }, tools: [] },
    ];
    for (const body of bodies) expect(adoptBody(body)).to.equal(body);
  });
});

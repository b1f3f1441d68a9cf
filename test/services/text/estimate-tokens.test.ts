import { expect } from 'chai';
import { estimateInputTokens } from '../../../services/text/estimate-tokens.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { Turn } from '../../../text/canonical.ts';
import { FORMATS } from '../../../text/formats.ts';
import { textRequest } from '../../text/support.ts';

function estimate(body: JsonObject): number {
  return estimateInputTokens(FORMATS['chat-completions'].client.parseRequest({ model: 'm', ...body }, {}));
}

function image(bytes: number): JsonObject {
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } };
}

describe('the estimate of a request’s input', () => {
  const words = 'The quick brown fox jumps over the lazy dog. '.repeat(100);

  it('covers its text, tools and history', () => {
    const alone = estimate({ messages: [{ role: 'user', content: words }] });
    expect(alone).to.be.within(900, 1_100);
    const tools = [{ type: 'function', function: { name: 'look', description: words } }];
    expect(estimate({ messages: [{ role: 'user', content: 'Hi' }], tools })).to.be.within(900, 1_100);
    const history = [
      { role: 'system', content: words },
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: words,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: JSON.stringify({ words }) } }],
      },
      { role: 'tool', tool_call_id: 'a', content: words },
    ];
    expect(estimate({ messages: history })).to.be.within(3_800, 4_300);
  });

  it('does not depend on the formatting of a client’s JSON', () => {
    const body = (text: string): JsonObject => ({ messages: [{ role: 'user', content: text }] });
    expect(estimate(JSON.parse(JSON.stringify(body('\u6f22\u5b57'))))).to.equal(estimate(body('漢字')));
  });

  it('depends on the number of images, not on their size', () => {
    const estimates = [1_000, 1_000_000].map((bytes) =>
      estimate({ messages: [{ role: 'user', content: [image(bytes)] }] }),
    );
    expect(estimates[0]).to.equal(estimates[1]);
    const two = estimate({ messages: [{ role: 'user', content: [image(10), image(10)] }] });
    expect(two).to.be.within(3_200, 3_300);
  });

  it('depends on the size of files, and includes tool results', () => {
    const source = { kind: 'base64', mediaType: 'application/pdf', data: 'A'.repeat(1_000_000) } as const;
    const content = [{ type: 'file', source }] as const;
    const turns: readonly Turn[][] = [
      [{ role: 'user', parts: content }],
      [{ role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content }] }],
    ];
    for (const turn of turns) expect(estimateInputTokens(textRequest({ turns: turn }))).to.be.within(10_000, 12_000);
  });
});

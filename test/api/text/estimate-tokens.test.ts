import { expect } from 'chai';
import { estimateInputTokens, estimateOutputTokens } from '../../../api/text/estimate-tokens.ts';
import type { JsonObject, Turn } from '../../../text/canonical.ts';
import { FORMATS } from '../../../text/formats.ts';
import { textRequest } from '../../text/support.ts';

function estimate(body: JsonObject): number {
  const request = FORMATS['chat-completions'].client.parseRequest({ model: 'm', ...body }, {});
  return estimateInputTokens(request, Buffer.byteLength(JSON.stringify(body)));
}

function image(bytes: number): JsonObject {
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } };
}

describe('the estimate of tokens', () => {
  it('is about one for every three and a half bytes of text, tools and history included', () => {
    const words = 'The quick brown fox jumps over the lazy dog. '.repeat(100);
    expect(estimate({ messages: [{ role: 'user', content: words }] })).to.be.within(
      words.length / 3.5,
      words.length / 3.4,
    );
    const tools = [{ type: 'function', function: { name: 'look', description: words } }];
    expect(estimate({ messages: [{ role: 'user', content: 'Hi' }], tools })).to.be.greaterThan(words.length / 3.5);
  });

  it('takes text of more bytes a character for more tokens', () => {
    const latin = estimate({ messages: [{ role: 'user', content: 'a'.repeat(1_000) }] });
    expect(estimate({ messages: [{ role: 'user', content: '漢'.repeat(1_000) }] })).to.be.greaterThan(2 * latin);
  });

  it('goes by the number of images, not by their size', () => {
    const estimates = [1_000, 1_000_000].map((bytes) =>
      estimate({ messages: [{ role: 'user', content: [image(bytes)] }] }),
    );
    expect(estimates[0]).to.equal(estimates[1]);
    const two = estimate({ messages: [{ role: 'user', content: [image(10), image(10)] }] });
    expect(two).to.be.within(3_200, 3_300);
  });

  it('goes by the size of files, and sees into tool results', () => {
    const source = { kind: 'base64', mediaType: 'application/pdf', data: 'A'.repeat(1_000_000) } as const;
    const content = [{ type: 'file', source }] as const;
    const turns: readonly Turn[][] = [
      [{ role: 'user', parts: content }],
      [{ role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content }] }],
    ];
    for (const turn of turns)
      expect(estimateInputTokens(textRequest({ turns: turn }), 1_000_200)).to.be.within(10_000, 12_000);
  });

  it('of output is one for every four characters, and none for nothing', () => {
    expect([0, 1, 4, 5].map(estimateOutputTokens)).to.deep.equal([0, 1, 1, 2]);
  });
});

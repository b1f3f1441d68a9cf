import { expect } from 'chai';
import { call, useTestStack } from '../../support/stack.ts';

const SLOW = {
  model: 'textg-6-sol',
  messages: [{ role: 'user', content: 'Say exactly: at last [sim:delay_ms=2500]' }],
};

describe('the cut-off of text requests', () => {
  let key: string;

  const stack = useTestStack({ env: { GENWAY_TEXT_CUTOFF_S: '1' } });
  before(async () => {
    await Promise.all([stack.api.start(), stack.text.start()]);
    key = (await stack.createAccount()).apiKey;
  });

  it('ends requests that do not stream on the api address, and none on the text address', async () => {
    // contract 8.3:2
    const statusesOf = (body: object) =>
      Promise.all(
        [stack.baseUrl, stack.textBaseUrl].map(async (url) => {
          const { status } = await call(`${url}/v1/chat/completions`, { key, body });
          return status;
        }),
      );
    expect(await statusesOf(SLOW)).to.deep.equal([503, 200]);
  });
});

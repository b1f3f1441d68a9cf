import { expect } from 'chai';
import { startTestStack, type TestStack } from '../support/stack.ts';

const GRACE_S = 4;

describe('a text process that is asked to stop', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let apiKey: string;

  before(async () => {
    stack = await startTestStack({ env: { GENWAY_SHUTDOWN_GRACE_S: String(GRACE_S) } });
    await Promise.all([stack.api.start(), stack.text.start()]);
    ({ apiKey } = await stack.createAccount());
  });
  after(() => stack.stop());

  /** Begins a stream and resolves when its first bytes are there. */
  async function beginStream(directives: string): Promise<{ rest: Promise<string> }> {
    const { body } = await fetch(`${stack.textBaseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'textd-v2.5',
        stream: true,
        max_tokens: 1_000,
        messages: [{ role: 'user', content: `x [sim:${directives}]` }],
      }),
    });
    if (!body) throw new Error('the stream has no body');
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const first = await reader.read();
    const readRest = async (): Promise<string> => {
      let text = first.value ?? '';
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return text;
          text += value;
        }
      } catch {
        return text;
      }
    };
    return { rest: readRest() };
  }

  it('lets a stream end that ends in time, cuts one that does not, and charges both for what they were', async () => {
    const [short, endless] = await Promise.all([
      beginStream('tokens=10,chunk_ms=100'),
      beginStream('tokens=900,chunk_ms=200'),
    ]);
    await stack.text.stop();
    expect(await short.rest).to.match(/data: \[DONE\]\s*$/);
    expect(await endless.rest).to.not.include('[DONE]');
    expect(await stack.database('text_holds').select('id')).to.deep.equal([]);
    const requests: { outcome: string; charge: string }[] = await stack
      .database('text_requests')
      .orderBy('outcome', 'desc')
      .select('outcome', 'charge');
    expect(requests.map(({ outcome }) => outcome)).to.deep.equal(['succeeded', 'disconnected']);
    for (const { charge } of requests) expect(BigInt(charge) > 0n).to.equal(true);
  });
});

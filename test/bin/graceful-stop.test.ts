import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { startTcpProxy, type TcpProxy } from '../../lab/stack/tcp-proxy.ts';
import { useTestStack } from '../support/stack.ts';

const GRACE_S = 4;

describe('a text process that receives a stop signal', () => {
  let proxy: TcpProxy;
  let apiKey: string;

  const stack = useTestStack({
    processes: ['api', 'text', 'worker'],
    env: { GENWAY_SHUTDOWN_GRACE_S: String(GRACE_S) },
    routeDatabase: async (url) => {
      proxy = await startTcpProxy(url);
      return proxy.urlOf(url);
    },
  });
  before(async () => {
    await stack.text.start();
    ({ apiKey } = await stack.createAccount());
  });
  after(async () => {
    await proxy.close();
  });

  /** Starts a stream and resolves when its first bytes arrive. */
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

  it('lets a stream end within the grace, cuts a longer one, and charges both for the delivered part', async () => {
    const [short, endless] = await Promise.all([
      beginStream('tokens=10,chunk_ms=100'),
      beginStream('tokens=900,chunk_ms=200'),
    ]);
    await stack.text.stop();
    expect(await short.rest).to.match(/data: \[DONE\]\s*$/);
    expect(await endless.rest).to.not.include('[DONE]');
    expect(await stack.database('text_allowances').select('id')).to.deep.equal([]);
    const requests: { outcome: string; charge: string }[] = await stack
      .database('text_requests')
      .orderBy('outcome', 'desc')
      .select('outcome', 'charge');
    expect(requests.map(({ outcome }) => outcome)).to.deep.equal(['succeeded', 'disconnected']);
    for (const { charge } of requests) expect(BigInt(charge) > 0n).to.equal(true);
  });

  it('charges a whole answer that it delivered while the database was silent, when the database is available soon after', async () => {
    await stack.text.start();
    const { rest } = await beginStream('tokens=3,chunk_ms=500');
    proxy.silence();
    proxy.refuseNew();
    expect(await rest).to.match(/data: \[DONE\]\s*$/);
    const stopped = stack.text.stop();
    // Longer than the process waits for its clients.
    await sleep((GRACE_S + 6) * 1_000);
    proxy.refuseNew(false);
    await stopped;
    expect(await stack.database('text_allowances').select('id')).to.deep.equal([]);
    expect(await stack.database('text_requests').where('charge', '>', 0)).to.have.length(3);
  });
});

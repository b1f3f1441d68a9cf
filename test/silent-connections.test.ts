import { expect } from 'chai';
import { waitUntil } from '../bin/stack/wait-until.ts';
import { PATIENCE_MS } from './support/eventually.ts';
import { call, startTestStack, type TestStack } from './support/stack.ts';
import { startTcpProxy, type TcpProxy } from '../lab/stack/tcp-proxy.ts';

const VIDEO = { model: 'vidone-3.0', prompt: 'A test' };
const QUESTION = { model: 'textg-6-sol', messages: [{ role: 'user', content: 'Say exactly: hello' }] };

describe('when every connection to the database goes silent and new connections work', () => {
  let stack: TestStack;
  let proxy: TcpProxy;
  let key: string;

  before(async () => {
    stack = await startTestStack({
      routeDatabase: async (url) => {
        proxy = await startTcpProxy(url);
        return proxy.urlOf(url);
      },
    });
    await Promise.all([stack.api.start(), stack.text.start(), stack.worker.start()]);
    key = (await stack.createAccount()).apiKey;
    await useEverything();
  });
  after(async () => {
    await stack.stop();
    await proxy.close();
  });

  const create = (headers = {}) =>
    call<{ data: { id: string } }>(`${stack.baseUrl}/v1/videos/tasks`, { key, body: VIDEO, headers });
  const balance = () => call(`${stack.baseUrl}/v1/balance`, { key });
  const ask = () => call(`${stack.textBaseUrl}/v1/chat/completions`, { key, body: QUESTION });

  async function useEverything(): Promise<void> {
    const calls = Array.from({ length: 10 }, (_, index) => [
      create({ 'idempotency-key': `warm-${index}` }),
      balance(),
      ask(),
    ]);
    await Promise.all(calls.flat());
  }

  async function expectSucceeded(taskId: string): Promise<void> {
    await waitUntil(
      async () => {
        const { status } = await stack.database('tasks').where({ id: taskId }).first('status');
        expect(status).to.equal('succeeded');
      },
      { timeoutMs: PATIENCE_MS },
    );
  }

  it('Genway answers creates, balances and text again', async () => {
    expect(proxy.connections()).to.be.above(3);
    proxy.silence();
    const calls = [0, 1, 2].flatMap((index) => [
      create(),
      create({ 'idempotency-key': `silent-${index}` }),
      balance(),
      ask(),
    ]);
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    // A busy machine may take longer for a new connection than a request waits; the client is then told to retry.
    expect(statuses.filter((status) => ![200, 201, 503].includes(status))).to.deep.equal([]);
    await waitUntil(
      async () => {
        const again = await Promise.all([create(), balance(), ask()]);
        expect(again.map(({ status }) => status)).to.deep.equal([201, 200, 200]);
        expect((await fetch(`${stack.baseUrl}/readyz`)).status).to.equal(200);
      },
      { timeoutMs: PATIENCE_MS },
    );
  });

  it('a worker continues with its waiting tasks', async () => {
    const before = await Promise.all(Array.from({ length: 8 }, () => create()));
    proxy.silence();
    const after = await Promise.all(Array.from({ length: 4 }, () => create()));
    for (const { body } of [...before, ...after]) await expectSucceeded(body.data.id);
  });
});

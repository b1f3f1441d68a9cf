import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { startTcpProxy, type TcpProxy } from '../../../lab/stack/tcp-proxy.ts';

describe('the TCP proxy of drills', () => {
  let echo: Server;
  let proxy: TcpProxy;
  let heard: string[];
  let clients: Socket[];

  beforeEach(async () => {
    heard = [];
    clients = [];
    echo = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (data) => {
        heard.push(String(data));
        socket.write(data);
      });
    });
    await once(echo.listen(0, '127.0.0.1'), 'listening');
    const address = echo.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    proxy = await startTcpProxy(`127.0.0.1:${address.port}`);
  });
  afterEach(async () => {
    for (const client of clients) client.destroy();
    await proxy.close();
    await new Promise((resolve) => echo.close(resolve));
  });

  async function open(): Promise<Socket> {
    const client = connect(proxy.port, '127.0.0.1');
    clients.push(client);
    client.on('error', () => {});
    await once(client, 'connect');
    return client;
  }

  /** Resolves although the connection was reset. */
  async function closeOf(client: Socket): Promise<void> {
    await new Promise<void>((resolve) => client.once('close', () => resolve()));
  }

  async function untilHeard(words: string): Promise<void> {
    await waitUntil(
      async () => {
        expect(heard).to.include(words);
      },
      { timeoutMs: PATIENCE_MS, pauseMs: 5 },
    );
  }

  async function say(client: Socket, words: string): Promise<string> {
    const answered = once(client, 'data');
    client.write(words);
    const [data] = await answered;
    return String(data);
  }

  it('passes all data on when a silence ends, and breaks no connection', async () => {
    const client = await open();
    await say(client, 'before');
    proxy.silence();
    const answered = say(client, 'meanwhile');
    expect(await say(await open(), 'on another')).to.equal('on another');
    expect(heard).to.deep.equal(['before', 'on another']);
    proxy.release();
    expect(await answered).to.equal('meanwhile');
  });

  it('passes on the data that a client sent before it disconnected during a silence', async () => {
    const client = await open();
    await say(client, 'before');
    proxy.silence();
    client.end('late');
    await say(await open(), 'on another');
    expect(heard).not.to.include('late');
    proxy.release();
    await untilHeard('late');
  });

  it('passes requests to the server while it drops the answers', async () => {
    const client = await open();
    await say(client, 'before');
    proxy.swallowAnswers();
    const closed = closeOf(client);
    client.write('unanswered');
    await untilHeard('unanswered');
    proxy.reset();
    await closed;
    expect(client.bytesRead).to.equal('before'.length);
  });

  it('resets new connections during a refusal, and accepts them afterwards', async () => {
    proxy.refuseNew();
    const refused = connect(proxy.port, '127.0.0.1');
    refused.on('error', () => {});
    await closeOf(refused);
    proxy.refuseNew(false);
    expect(await say(await open(), 'again')).to.equal('again');
  });

  it('delays data in both directions', async () => {
    const client = await open();
    proxy.delay(50);
    const startedAt = performance.now();
    await say(client, 'slowly');
    expect(performance.now() - startedAt).to.be.at.least(99);
  });
});

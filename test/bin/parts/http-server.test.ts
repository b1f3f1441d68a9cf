import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { listen, type RunningServer } from '../../../bin/parts/http-server.ts';
import { rejectionOf } from '../../support/rejection.ts';

/** Far longer than a test may take, so that whatever ends in time ended by itself. */
const GRACE_MS = 600_000;

describe('an HTTP server that stops', () => {
  let server: RunningServer;
  let release: () => void;
  let arrived: Promise<unknown>;
  const sockets: Socket[] = [];

  /** Answers when it is released. */
  beforeEach(async () => {
    let markArrived: (value?: unknown) => void = () => {};
    arrived = new Promise((resolve) => (markArrived = resolve));
    const released = new Promise<void>((resolve) => (release = resolve));
    server = await listen(
      async (_request, response) => {
        markArrived();
        await released;
        response.end('the whole answer');
      },
      '127.0.0.1',
      0,
    );
  });
  afterEach(async () => {
    release();
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.stop(0);
  });

  async function openSocket(): Promise<Socket> {
    const socket = connect(server.port, '127.0.0.1');
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  }

  it('finishes the request under way, on a connection that would be kept alive, and refuses new ones', async () => {
    const answer = fetch(`http://127.0.0.1:${server.port}`);
    await arrived;
    const stopped = server.stop(GRACE_MS);
    expect(await rejectionOf(openSocket())).to.have.property('code', 'ECONNREFUSED');
    release();
    expect(await (await answer).text()).to.equal('the whole answer');
    await stopped;
  });

  it('does not wait for connections that ask for nothing', async () => {
    await openSocket();
    release();
    await (await fetch(`http://127.0.0.1:${server.port}`)).text();
    await server.stop(GRACE_MS);
  });

  it('cuts off what has not ended within the grace', async () => {
    const answer = fetch(`http://127.0.0.1:${server.port}`);
    await arrived;
    const [failure] = await Promise.all([rejectionOf(answer), server.stop(10)]);
    expect(failure.message).to.equal('fetch failed');
  });
});

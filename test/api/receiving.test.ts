import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createReceiving, type Receiving } from '../../api/receiving.ts';
import { toServiceError } from '../../domain/errors.ts';
import { listen, type RunningServer } from '../../net/http-server.ts';
import type { ServiceError } from '../../domain/errors.ts';

const MAX_BYTES = 1_000_000;
const LARGE = 40_000;

describe('receiving bodies', () => {
  let server: RunningServer;
  let outcomes: (number | ServiceError)[];
  const sockets: Socket[] = [];

  /** A server that reads bodies, and releases each when it has come. */
  async function start(receiving: Receiving): Promise<void> {
    outcomes = [];
    server = await listen(
      async (request, response) => {
        const outcome = await receiving.receive(request, MAX_BYTES).then(
          ({ bytes, release }) => {
            release();
            return bytes.byteLength;
          },
          (error: unknown) => toServiceError(error),
        );
        outcomes.push(outcome);
        response.writeHead(typeof outcome === 'number' ? 200 : outcome.status).end();
      },
      '127.0.0.1',
      0,
    );
  }
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.stop(0);
  });

  async function send(bytes: number, announcedBytes: number): Promise<Socket> {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    socket.resume();
    await once(socket, 'connect');
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${announcedBytes}\r\n\r\n`;
    await new Promise((resolve) => socket.write(head + 'x'.repeat(bytes), resolve));
    return socket;
  }

  async function settled(count: number): Promise<void> {
    while (outcomes.length < count) await sleep(5);
  }

  it('refuses the slowest of those that hold much when all together hold too much, and reads on with the others', async () => {
    await start(createReceiving({ maxHeldBytes: 3 * LARGE, paceCheckMs: 60_000 }));
    await send(LARGE, MAX_BYTES);
    await sleep(300);
    await send(100, MAX_BYTES);
    const fast = await send(LARGE, LARGE + 10);
    await send(LARGE - 1_000, LARGE - 1_000);
    await settled(1);
    await send(LARGE + 1_000, LARGE + 1_000);
    await settled(3);
    fast.write('x'.repeat(10));
    await settled(4);
    const [first, ...others] = outcomes.toSorted(
      (left, right) => Number(typeof left === 'number') - Number(typeof right === 'number'),
    );
    expect(first).to.include({ status: 503, code: 'processing_unavailable' });
    expect(others.every((outcome) => typeof outcome === 'number')).to.equal(true);
  });

  it('holds nothing for what a header announces', async () => {
    await start(createReceiving({ maxHeldBytes: LARGE, paceCheckMs: 60_000 }));
    for (let count = 0; count < 20; count += 1) await send(1, MAX_BYTES);
    await send(LARGE / 2, LARGE / 2);
    await settled(1);
    expect(outcomes).to.deep.equal([LARGE / 2]);
  });

  it('gives up a body that comes too slowly', async () => {
    await start(createReceiving({ maxHeldBytes: MAX_BYTES, paceCheckMs: 50 }));
    const socket = await send(10, 1_000);
    const drip = setInterval(() => socket.write('x'), 20);
    await settled(1);
    clearInterval(drip);
    expect(outcomes[0]).to.include({ status: 408, code: 'read_request_body_failed' });
  });

  it('frees what a client held that has left', async () => {
    await start(createReceiving({ maxHeldBytes: LARGE, paceCheckMs: 60_000 }));
    for (let count = 1; count <= 3; count += 1) {
      (await send(LARGE - 100, MAX_BYTES)).destroy();
      await settled(count);
    }
    await send(LARGE - 100, LARGE - 100);
    await settled(4);
    expect(outcomes.at(-1)).to.equal(LARGE - 100);
  });
});

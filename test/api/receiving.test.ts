import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createReceiving, type Receiving } from '../../api/receiving.ts';
import { toServiceError } from '../../domain/errors.ts';
import { listen, type RunningServer } from '../../api/http-server.ts';
import type { ServiceError } from '../../domain/errors.ts';

const MAX_BYTES = 1_000_000;
const LARGE = 40_000;
const LIMITS = { maxHeldBytes: 100 * MAX_BYTES, paceCheckMs: 60_000, maxBytesPerTurn: MAX_BYTES };

function written(socket: Socket, text: string): Promise<unknown> {
  return new Promise((resolve) => socket.write(text, resolve));
}

describe('receiving bodies', () => {
  let server: RunningServer;
  let outcomes: (number | ServiceError)[];
  const sockets: Socket[] = [];

  /** A server that reads bodies, and releases each once it is complete. */
  async function start(receiving: Receiving, look?: (piece: Uint8Array) => void): Promise<void> {
    outcomes = [];
    server = await listen(
      async (request, response) => {
        const outcome = await receiving.receive(request, MAX_BYTES, look).then(
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

  async function sendHead(bodyHeader: string): Promise<Socket> {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    socket.resume();
    await once(socket, 'connect');
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${bodyHeader}\r\n\r\n`);
    return socket;
  }

  async function send(bytes: number, announcedBytes: number): Promise<Socket> {
    const socket = await sendHead(`Content-Length: ${announcedBytes}`);
    await written(socket, 'x'.repeat(bytes));
    return socket;
  }

  async function settled(count: number): Promise<void> {
    while (outcomes.length < count) await sleep(5);
  }

  it('refuses the slowest of the large bodies when all together hold too much, and reads on with the others', async () => {
    await start(createReceiving({ ...LIMITS, maxHeldBytes: 3 * LARGE }));
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

  it('reserves no memory for the length that a header announces', async () => {
    await start(createReceiving({ ...LIMITS, maxHeldBytes: LARGE }));
    for (let count = 0; count < 20; count += 1) await send(1, MAX_BYTES);
    await send(LARGE / 2, LARGE / 2);
    await settled(1);
    expect(outcomes).to.deep.equal([LARGE / 2]);
  });

  it('refuses a body that arrives too slowly, with an error that permits the same request again', async () => {
    // contract 7.2:10 7.4:2 8.2:6
    await start(createReceiving({ ...LIMITS, paceCheckMs: 50 }));
    const socket = await send(10, 1_000);
    const drip = setInterval(() => socket.write('x'), 20);
    await settled(1);
    clearInterval(drip);
    expect(outcomes[0]).to.include({ status: 408, code: 'read_request_body_failed', retryable: true });
  });

  it('frees the memory of a client that left', async () => {
    await start(createReceiving({ ...LIMITS, maxHeldBytes: LARGE }));
    for (let count = 1; count <= 3; count += 1) {
      (await send(LARGE - 100, MAX_BYTES)).destroy();
      await settled(count);
    }
    await send(LARGE - 100, LARGE - 100);
    await settled(4);
    expect(outcomes.at(-1)).to.equal(LARGE - 100);
  });

  it('holds little more than the bytes of a body that arrives one byte at a time', async () => {
    await start(createReceiving(LIMITS));
    const before = process.memoryUsage().rss;
    const socket = await sendHead('Transfer-Encoding: chunked');
    await written(socket, '1\r\nx\r\n'.repeat(MAX_BYTES));
    await written(socket, '0\r\n\r\n');
    await settled(1);
    expect(outcomes).to.deep.equal([MAX_BYTES]);
    expect((process.memoryUsage().rss - before) / MAX_BYTES).to.be.below(100);
  });

  it('reads only its share of many large bodies in one iteration of the event loop', async () => {
    let bytesOfTurn = 0;
    let mostBytes = 0;
    const look = (piece: Uint8Array): void => {
      if (bytesOfTurn === 0) setImmediate(() => (bytesOfTurn = 0));
      bytesOfTurn += piece.byteLength;
      mostBytes = Math.max(mostBytes, bytesOfTurn);
    };
    await start(createReceiving({ ...LIMITS, maxBytesPerTurn: 1_000 }), look);
    await Promise.all(Array.from({ length: 16 }, () => send(MAX_BYTES, MAX_BYTES)));
    await settled(16);
    expect(outcomes).to.deep.equal(Array.from({ length: 16 }, () => MAX_BYTES));
    // The server reads each connection once a turn, 64 kB at most.
    expect(mostBytes).to.be.below(16 * 65_536 + 1);
  });
});

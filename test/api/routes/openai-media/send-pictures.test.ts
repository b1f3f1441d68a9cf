import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Router } from '@koa/router';
import { expect } from 'chai';
import Koa from 'koa';
import { sendPictures } from '../../../../api/routes/openai-media/send-pictures.ts';
import { createFairQueue } from '../../../../services/fair-queue.ts';
import type { RequestState } from '../../../../api/state.ts';
import { listen, type RunningServer } from '../../../../api/http-server.ts';
import { createLocalStorage } from '../../../../storage/local.ts';
import type { Storage } from '../../../../storage/storage.ts';
import { eventually } from '../../../support/eventually.ts';
import { call } from '../../../support/stack.ts';

const MIB = 2 ** 20;
const CLIENTS = 20;
/** The most that the buffers of one connection hold, those of the operating system included. */
const MOST_BYTES_OF_CLIENT = 8 * MIB;
const PICTURE = randomBytes(12 * MIB);
const SMALL = randomBytes(1_000);
const LIMITS = { contentType: 'image/png', maxBytes: 64 * MIB };

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

describe('an answer with pictures in base64', () => {
  let folder: string;
  let storage: Storage;
  let server: RunningServer;
  let readBytes: number;
  /** The method of the store that fails. */
  let failing: 'sizeOf' | 'read' | null;
  const sockets: Socket[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-pictures-'));
    storage = createLocalStorage({ directory: folder, publicUrl: 'http://files.example' });
    await storage.put('large.png', piecesOf(PICTURE), LIMITS);
    await storage.put('small.png', piecesOf(SMALL), LIMITS);
    const services = {
      storage: { ...storage, read: countRead, sizeOf: sizeUnlessFailing },
      http: { queuePictures: createFairQueue({ atOnce: 6, perHolder: 4 }) },
    };
    const router = new Router<RequestState>();
    router.get('/:account/:format/:names', (context) => {
      const { account = '', format, names = '' } = context.params;
      const pictures = names.split(',').map((name) => ({
        type: 'image' as const,
        url: `http://files.example/${name}.png`,
        mimeType: 'image/png',
      }));
      const chosen = format === 'url' || format === 'b64_json' ? format : undefined;
      return sendPictures(context, { created: 1, pictures, format: chosen, event: null }, account, services);
    });
    const app = new Koa<RequestState>();
    app.silent = true;
    app.use(router.routes());
    server = await listen(app.callback(), '127.0.0.1', 0);
  });
  beforeEach(() => {
    readBytes = 0;
    failing = null;
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  after(async () => {
    await server.stop(0);
    await rm(folder, { recursive: true });
  });

  async function sizeUnlessFailing(key: string): ReturnType<Storage['sizeOf']> {
    if (failing === 'sizeOf') throw new Error('the store is unavailable');
    return storage.sizeOf(key);
  }

  async function countRead(key: string): ReturnType<Storage['read']> {
    if (failing === 'read') throw new Error('the store is unavailable');
    const content = await storage.read(key);
    return content && counted(content);
  }

  async function* counted(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of content) {
      readBytes += piece.byteLength;
      yield piece;
    }
  }

  /** Requests an answer and reads nothing of it. */
  async function askOnly(path: string): Promise<void> {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }

  async function ask(path: string): Promise<{ created: number; data: { url?: string; b64_json?: string }[] }> {
    const answer = await call<Awaited<ReturnType<typeof ask>>>(`http://127.0.0.1:${server.port}${path}`, {});
    return answer.body;
  }

  it('has each picture once, as a link, in base64 or both, and links to pictures that would make it too large', async () => {
    // contract 4.14:1
    const small = SMALL.toString('base64');
    const url = 'http://files.example/small.png';
    expect(await ask('/a/both/small')).to.deep.equal({ created: 1, data: [{ url, b64_json: small }] });
    expect(await ask('/a/url/small')).to.deep.equal({ created: 1, data: [{ url }] });
    expect(await ask('/a/b64_json/small,none')).to.deep.equal({
      created: 1,
      data: [{ b64_json: small }, { url: 'http://files.example/none.png' }],
    });
    const { data } = await ask('/a/b64_json/large,large,small,large');
    expect(data.map((picture) => Object.keys(picture).join())).to.deep.equal(['b64_json', 'b64_json', 'url', 'url']);
    expect(Buffer.from(data[1]?.b64_json ?? '', 'base64').equals(PICTURE)).to.equal(true);
  });

  it('has links while the store cannot deliver pictures, which are charged', async () => {
    // contract 4.14:18
    const url = 'http://files.example/small.png';
    for (const method of ['sizeOf', 'read'] as const) {
      failing = method;
      for (const format of ['both', 'b64_json']) {
        expect(await ask(`/a/${format}/small`)).to.deep.equal({ created: 1, data: [{ url }] });
      }
    }
  });

  it('is read from the store only as fast as its client reads, for a few clients of an account at once', async () => {
    // contract 4.14:5
    for (let count = 0; count < CLIENTS; count += 1) await askOnly('/greedy/b64_json/large,large');
    await eventually(() => readBytes > 0);
    const { data } = await ask('/other/b64_json/large');
    expect(Buffer.from(data[0]?.b64_json ?? '', 'base64').equals(PICTURE)).to.equal(true);
    expect(readBytes - PICTURE.byteLength).to.be.below(4 * MOST_BYTES_OF_CLIENT);
  });

  it('lets the next client proceed when its own client has left', async () => {
    for (let count = 0; count < CLIENTS; count += 1) await askOnly('/greedy/b64_json/large');
    const waiting = ask('/greedy/b64_json/small');
    for (const socket of sockets.splice(0)) socket.destroy();
    expect((await waiting).data).to.have.length(1);
  });
});

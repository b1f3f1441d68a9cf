import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import Koa from 'koa';
import { CLIENT_LIMITS, listen, type RunningServer } from '../../api/http-server.ts';
import { eventually } from '../support/eventually.ts';
import { rejectionOf } from '../support/rejection.ts';

/** Far longer than a test may take, so that anything that ends in time ended by itself. */
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

  it('finishes the request in progress, on a keep-alive connection, and refuses new ones', async () => {
    const answer = fetch(`http://127.0.0.1:${server.port}`);
    await arrived;
    const stopped = server.stop(GRACE_MS);
    expect(await rejectionOf(openSocket())).to.have.property('code', 'ECONNREFUSED');
    release();
    expect(await (await answer).text()).to.equal('the whole answer');
    await stopped;
  });

  it('does not wait for idle connections', async () => {
    await openSocket();
    release();
    await (await fetch(`http://127.0.0.1:${server.port}`)).text();
    await server.stop(GRACE_MS);
  });

  it('cuts off requests that exceed the grace', async () => {
    const answer = fetch(`http://127.0.0.1:${server.port}`);
    await arrived;
    const [failure] = await Promise.all([rejectionOf(answer), server.stop(10)]);
    expect(failure.message).to.equal('fetch failed');
  });
});

describe('an HTTP server with clients that occupy connections', () => {
  let server: RunningServer;
  let socket: Socket;
  let handled: number;
  let answer: Buffer;
  let closed: Promise<unknown>;
  /** Whether the last answer was sent or given up. */
  let isOver: Promise<unknown>;

  beforeEach(async () => {
    handled = 0;
    let markOver: () => void = () => {};
    isOver = new Promise<void>((resolve) => (markOver = resolve));
    answer = Buffer.from('an answer');
    const limits = { ...CLIENT_LIMITS, headersMs: 300, unreadMs: 1_500 };
    server = await listen(
      async ({ url }, response) => {
        handled += 1;
        response.once('close', markOver);
        if (url === '/slow') await new Promise((resolve) => setTimeout(resolve, 3_000));
        response.end(answer);
      },
      '127.0.0.1',
      0,
      limits,
    );
    socket = connect(server.port, '127.0.0.1').on('error', () => {});
    closed = new Promise((resolve) => socket.once('close', resolve));
    await once(socket, 'connect');
  });
  afterEach(async () => {
    socket.destroy();
    await server.stop(0);
  });

  const requestTo = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

  async function read(): Promise<string> {
    let text = '';
    socket.on('data', (piece: Buffer) => (text += piece.toString('latin1')));
    await closed;
    return text;
  }

  it('refuses headers of more than 16 KiB with 431 and the common envelope', async () => {
    // contract 1:13 7.2:25 8.2:5
    const answered = once(socket, 'data');
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nx-long: ${'x'.repeat(16 * 1024)}\r\n\r\n`);
    const [bytes] = await answered;
    expect(String(bytes))
      .to.match(/^HTTP\/1\.1 431 /)
      .and.match(/\r\nx-request-id: (req_\w+)\r\n[^]*"code":"bad_request"[^]*"request_id":"\1"/);
    expect(handled).to.equal(0);
  });

  for (const [what, head] of [
    ['without a Host', 'GET / HTTP/1.1\r\n'],
    ['with two Hosts', 'GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n'],
    ['with a compressed body', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n'],
    ['with two Hosts of HTTP/1.0', 'GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n'],
    ...['a b', 'user@x', 'x/y', 'x,y\\', 'x:80:80', 'x:port', '[::1', '<x>', '%zz', '\xff'].map(
      (host) => [`with the Host ${host}`, `GET / HTTP/1.1\r\nHost: ${host}\r\n`] as const,
    ),
  ] as const) {
    it(`answers a request ${what} with 400 and the common envelope`, async () => {
      // contract 1:13
      const answered = once(socket, 'data');
      socket.write(`${head}\r\n`, 'latin1');
      expect(String((await answered)[0]))
        .to.match(/^HTTP\/1\.1 400 /)
        .and.match(/\r\nx-request-id: (req_\w+)\r\n[^]*"code":"bad_request"[^]*"request_id":"\1"/);
      expect(handled).to.equal(0);
    });
  }

  it('answers the requests before a request with an invalid Host, and none after it', async () => {
    socket.write(`${requestTo('/')}GET / HTTP/1.1\r\nHost: a b\r\n\r\n${requestTo('/')}`);
    expect([...(await read()).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['200', '400']);
    expect(handled).to.equal(1);
  });

  it('answers a request with an unknown coding once, although its body cannot be read', async () => {
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nbody');
    expect((await read()).match(/HTTP\/1\.1 400/g)).to.have.length(1);
  });

  it('accepts every form of a Host', async () => {
    for (const host of ['', 'x', 'x_y.example:8080', 'x:', '127.0.0.1', '[::1]:80', '[v1.a:b]', 'a%20b']) {
      const answered = once(socket, 'data');
      socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(String((await answered)[0]), host).to.match(/^HTTP\/1\.1 200 /);
    }
  });

  it('ignores expectations that HTTP does not define', async () => {
    const answered = once(socket, 'data');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n');
    expect(String((await answered)[0])).to.match(/^HTTP\/1\.1 200 [^]*an answer/);
  });

  it('waits 15 s for headers, and no longer', async () => {
    // contract 8.2:5
    expect(CLIENT_LIMITS.headersMs).to.equal(15_000);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n');
    expect(await read()).to.match(/^HTTP\/1\.1 4\d\d /);
    expect(handled).to.equal(0);
  });

  describe('after the process stood still for longer than its limits', () => {
    /** Blocks this process, as SIGSTOP does. */
    const standStill = (): void => {
      // The server looks for late headers every second.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    };
    /** Sends a request that waits in the kernel, and reads its answer. */
    async function askWhileStill(): Promise<string> {
      socket.write(requestTo('/').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
      standStill();
      return read();
    }

    it('answers a request that arrived meanwhile, on a new connection', async () => {
      expect(await askWhileStill()).to.match(/^HTTP\/1\.1 200 [^]*an answer$/);
    });

    it('answers a request that arrived meanwhile, on a connection that was used before', async () => {
      socket.write(requestTo('/'));
      await once(socket, 'data');
      expect(await askWhileStill()).to.match(/^HTTP\/1\.1 200 [^]*an answer$/);
    });

    it('still refuses headers that are incomplete', async () => {
      socket.write('GET / HTTP/1.1\r\n');
      standStill();
      expect(await read()).to.match(/^HTTP\/1\.1 4\d\d /);
      expect(handled).to.equal(0);
    });
  });

  it('treats a client that closes its sending side as disconnected', async () => {
    // contract 8.2:10
    const whole = read();
    socket.end(requestTo('/slow'));
    expect(await whole).to.equal('');
    await isOver;
    expect(handled).to.equal(1);
  });

  it('ends a connection whose client does not read an answer', async () => {
    // contract 8.2:9
    answer = Buffer.alloc(64 * 2 ** 20);
    socket.pause();
    socket.write(requestTo('/'));
    await isOver;
    socket.resume();
    await closed;
    expect(socket.bytesRead).to.be.below(answer.length);
  });

  it('waits for an answer that takes longer than the time limit for reading clients', async () => {
    socket.write(requestTo('/slow').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    expect(await read()).to.match(/an answer$/);
  });

  it('answers a few pipelined requests in order', async () => {
    socket.write(Array.from({ length: 10 }, () => requestTo('/')).join(''));
    let text = '';
    for await (const piece of socket) {
      text += String(piece);
      if (text.split('an answer').length > 10) break;
    }
    expect(handled).to.equal(10);
  });

  it('starts only some of 100,000 pipelined requests', async () => {
    // contract 8.2:8
    socket.write(requestTo('/slow').repeat(100_000));
    await closed;
    expect(handled).to.be.at.most(16);
  });
});

describe('an HTTP server that streams answers', () => {
  it('warns of no leak although many parts listen for the end of an answer', async () => {
    const warnings: string[] = [];
    const record = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', record);
    const answer = new Koa()
      .use(({ res, response }) => {
        for (let part = 0; part < 4; part += 1) res.once('close', () => {});
        response.body = Readable.from(['the whole ', 'answer']);
      })
      .callback();
    const server = await listen((request, response) => answer(request, response), '127.0.0.1', 0);
    expect(await (await fetch(`http://127.0.0.1:${server.port}`)).text()).to.equal('the whole answer');
    await server.stop(0);
    process.off('warning', record);
    expect(warnings).not.to.include('MaxListenersExceededWarning');
  });
});

describe('an HTTP server whose clients read nothing', () => {
  const MIB = 2 ** 20;
  const LIMITS = { byConnection: 24 * MIB, byCredential: 48 * MIB, byProcess: 64 * MIB };
  let server: RunningServer;
  const sockets: Socket[] = [];
  /** The paths of answers whose connections the server has closed. */
  let cut: string[];

  /** Answers with as many MiB as the path says. */
  beforeEach(async () => {
    cut = [];
    server = await listen(
      async ({ url = '', socket }, response) => {
        socket.once('close', () => cut.push(url));
        response.end(Buffer.alloc(Number(url.slice(1)) * MIB));
      },
      '127.0.0.1',
      0,
      { ...CLIENT_LIMITS, unreadBytes: LIMITS },
    );
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.stop(0);
  });

  /** Requests answers of such sizes on one connection, and reads nothing of them. */
  async function ask(key: string, ...mebibytes: readonly number[]): Promise<Socket> {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
    socket.pause();
    const heads = mebibytes.map((count) => `GET /${count} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    socket.write(heads.join(''));
    return socket;
  }

  /** Reads an answer to its end. */
  async function readAll(socket: Socket, mebibytes: number): Promise<void> {
    let left = mebibytes * MIB;
    for await (const piece of socket.iterator({ destroyOnReturn: false })) {
      left -= Buffer.from(piece).byteLength;
      if (left <= 0) return;
    }
    throw new Error(`${left} bytes are missing`);
  }

  it('closes a connection with too many unread bytes, also of answers that wait behind others', async () => {
    // contract 8.2:12
    const few = await ask('a', 8);
    await ask('b', 40);
    await ask('c', 8, 9, 10, 11);
    await eventually(() => cut.includes('/40') && cut.includes('/8'));
    await readAll(few, 8);
  });

  it('closes the connection with the most unread bytes of a credential that leaves too many, and no other', async () => {
    // contract 8.2:12
    const [other, first] = [await ask('a', 15), await ask('b', 18)];
    await ask('b', 20);
    const last = await ask('b', 19);
    await eventually(() => cut.length > 0);
    await Promise.all([readAll(other, 15), readAll(first, 18), readAll(last, 19)]);
    expect(cut).to.deep.equal(['/20']);
  });

  it('closes the connection with the most unread bytes when all clients together leave too many', async () => {
    // contract 8.2:12
    const [first, second] = [await ask('a', 20), await ask('b', 21)];
    await ask('c', 23);
    const last = await ask('d', 22);
    await eventually(() => cut.length > 0);
    await Promise.all([readAll(first, 20), readAll(second, 21), readAll(last, 22)]);
    expect(cut).to.deep.equal(['/23']);
  });
});

describe('an HTTP server that is asked for another protocol', () => {
  let server: RunningServer;
  before(async () => {
    const echo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      response.end(`${request.method} ${request.url} ${await text(request)}`);
    };
    server = await listen(echo, '127.0.0.1', 0);
  });
  after(() => server.stop(0));

  /** Sends bytes, and returns the bodies of the answers. */
  async function bodiesOf(bytes: string, count: number): Promise<readonly string[]> {
    const socket = connect(server.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += String(chunk)));
    const isClosed = once(socket, 'close');
    socket.write(bytes);
    const bodies = (): readonly string[] =>
      received
        .split('\r\n\r\n')
        .slice(1)
        .map((part) => part.split('HTTP/1.1')[0] ?? '');
    await Promise.race([isClosed, eventually(() => bodies().length >= count)]);
    socket.destroy();
    return bodies();
  }

  const OFFER = 'Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n';

  it('answers in HTTP/1.1 a request that offers h2c, with its body and the next request', async () => {
    const next = 'GET /next HTTP/1.1\r\nHost: a\r\n\r\n';
    for (const body of [
      'Content-Length: 5\r\n\r\nhello',
      'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ]) {
      expect(await bodiesOf(`POST /x HTTP/1.1\r\n${OFFER}${body}${next}`, 2)).to.deep.equal([
        'POST /x hello',
        'GET /next ',
      ]);
    }
  });

  it('closes a connection on which an upgrade follows an unanswered request', async () => {
    const upgrade = 'GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    expect(await bodiesOf(`GET /first HTTP/1.1\r\nHost: a\r\n\r\n${upgrade}`, 1)).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import * as fc from 'fast-check';
import Koa from 'koa';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { wavHeader } from '../../domain/wav.ts';
import { renderMp4 } from '../../simulator/render/mp4.ts';
import { serveLocalFiles } from '../../storage/serve-local.ts';
import { describeInBrowser, type Tab } from '../support/browser.ts';
import { pngFile } from '../support/media-files.ts';
import { casesOf } from '../support/properties.ts';

const VIDEO = randomBytes(1000);
const PCM = { samplesPerSecond: 8_000, channels: 1 };
/** A second of silence. */
const SOUND = Buffer.alloc(2 * PCM.samplesPerSecond);

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

describe('storage/serve-local', () => {
  let directory = '';
  let server: Server;
  let port = 0;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'genway-serve-'));
    await mkdir(join(directory, 'files', 'results'), { recursive: true });
    await writeFile(join(directory, 'secret.txt'), 'secret');
    await writeFile(join(directory, 'files', '.hidden'), 'secret');
    await writeFile(join(directory, 'files', 'results', 'video.mp4'), VIDEO);
    await mkdir(join(directory, 'files', 'private'));
    await writeFile(join(directory, 'files', 'private', 'a.jsonl'), 'secret');
    await writeFile(join(directory, 'files', 'empty.png'), '');
    await writeFile(join(directory, 'files', 'picture.png'), pngFile({ width: 16, height: 8 }));
    await writeFile(join(directory, 'files', 'shown.mp4'), renderMp4({ width: 64, height: 32, durationSeconds: 2 }));
    await writeFile(join(directory, 'files', 'sound.wav'), Buffer.concat([wavHeader(PCM, SOUND.length), SOUND]));

    const app = new Koa();
    app.use(async (context, next) => {
      try {
        await next();
      } catch (error) {
        context.status = error instanceof ServiceError ? error.status : 500;
        context.body = error instanceof ServiceError ? error.code : '';
        if (error instanceof ServiceError) context.set(error.headers);
      }
    });
    app.use(serveLocalFiles({ directory: join(directory, 'files'), prefix: '/files/' }));
    app.use((context) => {
      context.body = 'elsewhere';
    });
    server = app.listen(0, '127.0.0.1');
    await new Promise<void>((resolve) => server.once('listening', () => resolve()));
    const address = server.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  });

  after(async () => {
    await new Promise((resolve) => server.close(resolve));
    await rm(directory, { recursive: true });
  });

  /** Sends `path` unchanged: HTTP clients with URLs would normalise it. */
  function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, path, headers, method, agent: false }, (incoming) => {
        const parts: Buffer[] = [];
        incoming.on('data', (part: Buffer) => parts.push(part));
        incoming.on('error', reject);
        incoming.on('end', () => {
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(parts) });
        });
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  it('sends a file with its type, length, lifetime in caches and protective headers', async () => {
    // contract 2.2:17
    const { status, headers, body } = await get('/files/results/video.mp4');
    expect(status).to.equal(200);
    expect(body.equals(VIDEO)).to.equal(true);
    expect(headers).to.include({
      'content-type': 'video/mp4',
      'content-length': '1000',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'inline; filename="video.mp4"',
      'cache-control': 'public, max-age=3600, s-maxage=0',
      'content-security-policy': "default-src 'none'; media-src 'self'; sandbox",
    });
  });

  it('answers HEAD with the headers of GET and no body', async () => {
    const { status, headers, body } = await get('/files/results/video.mp4', { range: 'bytes=0-1' }, 'HEAD');
    expect([status, headers['content-length'], headers['content-type'], body.length]).to.eql([
      200,
      '1000',
      'video/mp4',
      0,
    ]);
  });

  it('sends an empty file', async () => {
    const { status, headers, body } = await get('/files/empty.png');
    expect([status, headers['content-length'], headers['content-type'], body.length]).to.eql([
      200,
      '0',
      'image/png',
      0,
    ]);
  });

  it('lets a browser show media only', async () => {
    for (const name of ['page.html', 'picture.svg', 'paper.pdf']) {
      await writeFile(join(directory, 'files', name), '<script>alert(1)</script>');
      const { headers } = await get(`/files/${name}`);
      expect(headers).to.include({
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename="${name}"`,
      });
    }
  });

  describe('pages of other origins', () => {
    for (const [answer, path, headers, status] of [
      ['a file', '/files/results/video.mp4', {}, 200],
      ['a part', '/files/results/video.mp4', { range: 'bytes=0-9' }, 206],
      ['an unchanged file', '/files/results/video.mp4', { 'if-none-match': '*' }, 304],
      ['the refusal of a range', '/files/results/video.mp4', { range: 'bytes=1000-' }, 416],
      ['that there is no file', '/files/none.mp4', {}, 404],
    ] as const) {
      it(`may read and show ${answer}`, async () => {
        // contract 2.2:14 2.2:18
        const found = await get(path, headers);
        expect(found.status).to.equal(status);
        expect(found.headers).to.include({
          'access-control-allow-origin': '*',
          'access-control-expose-headers': 'Accept-Ranges, Content-Disposition, Content-Range, ETag',
          'cross-origin-resource-policy': 'cross-origin',
        });
      });
    }

    it('may not read other paths', async () => {
      expect((await get('/v1/models')).headers).to.not.have.property('access-control-allow-origin');
    });
  });

  describeInBrowser('a browser', (browser) => {
    let tab: Tab;

    beforeEach(async () => {
      tab = await browser.open(`http://localhost:${port}`);
    });
    afterEach(() => tab.close());

    for (const [name, seconds] of [
      ['shown.mp4', 2],
      ['sound.wav', 1],
    ] as const) {
      it(`plays ${name} at its link`, async () => {
        // contract 2.2:15
        await tab.page.goto(`/files/${name}`);
        await tab.page.waitForFunction(`document.querySelector('video').readyState >= 2`);
        expect(await tab.page.evaluate(`document.querySelector('video').duration`)).to.equal(seconds);
        expect(tab.complaints).to.deep.equal([]);
      });
    }

    it('shows a picture at its link', async () => {
      // contract 2.2:15
      await tab.page.goto('/files/picture.png');
      expect(await tab.page.evaluate('document.images[0].naturalWidth')).to.equal(16);
    });

    it('lets a page of another origin read a part and revalidate the file', async () => {
      // contract 2.2:14
      await tab.page.goto('/elsewhere');
      const url = JSON.stringify(`http://127.0.0.1:${port}/files/results/video.mp4`);
      const read = `(async () => {
        const whole = await fetch(${url});
        const headers = { Range: 'bytes=10-19', 'If-Range': whole.headers.get('ETag') };
        const part = await fetch(${url}, { headers, cache: 'no-store' });
        return [whole.status, part.status, part.headers.get('Content-Range'), (await part.arrayBuffer()).byteLength];
      })()`;
      expect(await tab.page.evaluate(read)).to.deep.equal([200, 206, 'bytes 10-19/1000', 10]);
    });
  });

  describe('ranges', () => {
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=0-', 0, 999],
      ['bytes=10-19', 10, 19],
      ['bytes=990-', 990, 999],
      ['bytes=990-5000', 990, 999],
      ['bytes=-1', 999, 999],
      ['bytes=-5000', 0, 999],
    ] as const) {
      it(`sends the requested part ${range}`, async () => {
        // contract 2.2:8
        const { status, headers, body } = await get('/files/results/video.mp4', { range });
        expect(status).to.equal(206);
        expect(headers['content-range']).to.equal(`bytes ${start}-${end}/1000`);
        expect(headers['content-length']).to.equal(String(end - start + 1));
        expect(body.equals(VIDEO.subarray(start, end + 1))).to.equal(true);
      });
    }

    for (const range of ['bytes=1000-', 'bytes=5000-6000', 'bytes=-0']) {
      it(`answers 416 to ${range}`, async () => {
        const { status, headers, body } = await get('/files/results/video.mp4', { range });
        expect([status, headers['content-range'], body.toString()]).to.eql([416, 'bytes */1000', 'bad_request']);
        expect(headers).to.not.have.any.keys('cache-control', 'etag');
      });
    }

    it('answers 416 to any range of an empty file', async () => {
      for (const range of ['bytes=0-', 'bytes=-1', 'bytes=0-0']) {
        expect((await get('/files/empty.png', { range })).status, range).to.equal(416);
      }
    });

    for (const range of ['bytes=5-2', 'bytes=-', 'bytes=', 'items=0-1', 'bytes=0-1,5-6', 'bytes=a-b', 'bytes=0x1-2']) {
      it(`sends the whole file for ${range}`, async () => {
        const { status, body } = await get('/files/results/video.mp4', { range });
        expect([status, body.length]).to.eql([200, 1000]);
      });
    }

    it('sends the whole file when it is not the one in If-Range', async () => {
      const { headers } = await get('/files/results/video.mp4');
      const range = 'bytes=0-9';
      const same = await get('/files/results/video.mp4', { range, 'if-range': String(headers['etag']) });
      const other = await get('/files/results/video.mp4', { range, 'if-range': '"other"' });
      expect([same.status, other.status]).to.eql([206, 200]);
    });

    it('together give the whole file, for any split', async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 999 }), async (cut) => {
          const [first, second] = await Promise.all([
            get('/files/results/video.mp4', { range: `bytes=0-${cut - 1}` }),
            get('/files/results/video.mp4', { range: `bytes=${cut}-` }),
          ]);
          return Buffer.concat([first.body, second.body]).equals(VIDEO);
        }),
        { numRuns: casesOf(20) },
      );
    });
  });

  it('answers 304 without a body when the client has the file', async () => {
    // contract 2.2:8
    const etag = String((await get('/files/results/video.mp4')).headers['etag']);
    expect(etag).to.match(/^"[0-9a-f-]+"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { status, body } = await get('/files/results/video.mp4', { 'if-none-match': known });
      expect([status, body.length], known).to.eql([304, 0]);
    }
    expect((await get('/files/results/video.mp4', { 'if-none-match': '"other"' })).status).to.equal(200);
  });

  for (const path of [
    '/files/',
    '/files/results',
    '/files/results/',
    '/files/none.mp4',
    '/files/results/video.mp4/x',
    '/files/private/a.jsonl',
    '/files/../secret.txt',
    '/files/%2e%2e/secret.txt',
    '/files/..%2fsecret.txt',
    '/files/results/../../secret.txt',
    '/files//etc/passwd',
    '/files/.hidden',
    '/files/%00',
    `/files/${'a'.repeat(300)}`,
    `/files/${'a'.repeat(3000)}`,
  ]) {
    it(`answers 404 to ${path.slice(0, 60)}`, async () => {
      const { status, body } = await get(path);
      expect([status, body.toString()]).to.eql([404, 'not_found']);
    });
  }

  it('answers other methods with 405, and OPTIONS with 204, and names GET and HEAD', async () => {
    // contract 4:2 4:3
    for (const [method, expected] of [
      ['POST', 405],
      ['DELETE', 405],
      ['OPTIONS', 204],
    ] as const) {
      const { status, headers } = await get('/files/results/video.mp4', {}, method);
      expect([status, headers['allow']], method).to.eql([expected, 'GET, HEAD']);
    }
  });

  it('leaves other paths to the next middleware', async () => {
    expect((await get('/v1/models')).body.toString()).to.equal('elsewhere');
  });
});

import { expect } from 'chai';
import type { RequestListener } from 'node:http';
import { checkImageLinks } from '../../../api/services/image-links.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { createGuardedClient } from '../../../webhooks/address-guard.ts';
import type { GuardedClient } from '../../../webhooks/address-guard.ts';
import { gif, jpeg, png, webpExtended, webpLossless, webpLossy } from '../../storage/images.ts';
import { startReceiver } from '../../webhooks/receiver.ts';
import type { Receiver } from '../../webhooks/receiver.ts';

const FILES: Readonly<Record<string, Buffer>> = {
  '/a.png': png(64, 64),
  '/a.jpg': jpeg(64, 64),
  '/lossy.webp': webpLossy(64, 64),
  '/lossless.webp': webpLossless(64, 64),
  '/animated.webp': webpExtended(64, 64),
  '/png-named.txt': png(64, 64),
  '/photo.jpg': jpeg(6000, 4000, Array<Buffer>(4).fill(Buffer.alloc(65_000))),
  '/gif-named.png': gif(64, 64),
  '/page.png': Buffer.from('<!doctype html><title>Sorry</title>'.padEnd(500)),
  '/cut.png': png(64, 64).subarray(0, 18),
  '/empty.png': Buffer.alloc(0),
};

const PATHS: Readonly<Record<string, RequestListener>> = {
  '/missing.png': (_incoming, answer) => answer.writeHead(404).end(png(64, 64)),
  '/broken.png': (_incoming, answer) => answer.writeHead(500).end(png(64, 64)),
  '/none.png': (_incoming, answer) => answer.writeHead(204).end(),
  '/moved.png': (_incoming, answer) => answer.writeHead(302, { location: '/a.png' }).end(),
  '/round.png': (_incoming, answer) => answer.writeHead(302, { location: '/round.png' }).end(),
  '/inside.png': (_incoming, answer) => answer.writeHead(302, { location: 'http://10.0.0.1/a.png' }).end(),
  '/metadata.png': (_incoming, answer) => answer.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  '/silent.png': () => {},
  '/stalled.png': (_incoming, answer) => answer.write(png(64, 64).subarray(0, 12)),
  '/reset.png': (incoming) => incoming.socket.destroy(),
  '/endless.png': (_incoming, answer) => {
    answer.write(png(64, 64));
    sendWithoutEnd(answer);
  },
  '/endless.jpg': (_incoming, answer) => {
    answer.write(Buffer.from([0xff, 0xd8]));
    sendWithoutEnd(answer);
  },
  '/ranged.png': (incoming, answer) => answer.writeHead(incoming.headers.range ? 206 : 400).end(png(64, 64)),
};

/** Segments of JPEG metadata for as long as the client reads. */
function sendWithoutEnd(answer: Parameters<RequestListener>[1]): void {
  const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0xff, 0xff]), Buffer.alloc(0xfffd)]);
  const send = () => {
    while (!answer.destroyed && answer.write(segment));
  };
  answer.on('drain', send);
  send();
}

describe('api/services/image-links', () => {
  let server: Receiver;
  let client: GuardedClient;

  before(async () => {
    client = createGuardedClient({ allowPrivateAddresses: true });
    server = await startReceiver((incoming, answer) => {
      const path = incoming.url ?? '';
      const listener = PATHS[path];
      if (listener === undefined) answer.end(FILES[path]);
      else listener(incoming, answer);
    });
  });

  after(async () => {
    await client.close();
    await server.close();
  });

  async function messageFor(...paths: readonly string[]): Promise<string> {
    const urls = paths.map((path) => (path.startsWith('/') ? server.url + path : path));
    try {
      await checkImageLinks(urls, client, { timeoutMs: 1000 });
    } catch (error) {
      if (error instanceof ServiceError) return `${error.code}: ${error.message}`;
      throw error;
    }
    return 'accepted';
  }

  for (const path of [
    '/a.png',
    '/a.jpg',
    '/lossy.webp',
    '/lossless.webp',
    '/animated.webp',
    '/png-named.txt',
    '/photo.jpg',
    '/moved.png',
    '/endless.png',
    '/ranged.png',
  ]) {
    it(`accepts ${path}`, async () => expect(await messageFor(path)).to.equal('accepted'));
  }

  for (const [path, problem] of [
    ['/gif-named.png', 'must be a PNG, JPEG or WebP image'],
    ['/page.png', 'must be a PNG, JPEG or WebP image'],
    ['/cut.png', 'must be a PNG, JPEG or WebP image'],
    ['/empty.png', 'must be a PNG, JPEG or WebP image'],
    ['/missing.png', 'could not be fetched: its server answered with status 404'],
    ['/broken.png', 'could not be fetched: its server answered with status 500'],
    ['/none.png', 'could not be fetched: its server answered with status 204'],
    ['/round.png', 'could not be fetched: its server redirected too often'],
    ['/silent.png', 'could not be fetched: its server did not answer in time'],
    ['/stalled.png', 'could not be fetched: its server did not answer in time'],
    ['/reset.png', 'could not be fetched: its server cannot be reached'],
    ['/endless.jpg', 'must be a PNG, JPEG or WebP image'],
    ['/inside.png', 'must be a public HTTPS URL'],
    ['/metadata.png', 'must be a public HTTPS URL'],
    ['http://10.0.0.1/a.png', 'must be a public HTTPS URL'],
    ['http://2130706433/a.png', 'must be a public HTTPS URL'],
    ['not a link', 'must be a public HTTPS URL'],
  ] as const) {
    it(`refuses ${path}, naming the field`, async () => {
      expect(await messageFor('/a.png', path)).to.equal(`bad_request: "images[1]" ${problem}`);
    });
  }

  it('accepts sixteen links at once', async () => {
    expect(await messageFor(...Array<string>(16).fill('/a.png'))).to.equal('accepted');
  });

  it('does not wait for the other links when one is refused', async () => {
    const urls = [`${server.url}/silent.png`, `${server.url}/gif-named.png`];
    const failure = await checkImageLinks(urls, client, { timeoutMs: 60_000 }).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(ServiceError).with.property('message').that.contains('"images[1]"');
  });

  it('has nothing to say about no links', async () => {
    expect(await messageFor()).to.equal('accepted');
  });
});

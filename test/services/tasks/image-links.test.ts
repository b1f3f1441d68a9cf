import { expect } from 'chai';
import type { RequestListener } from 'node:http';
import { createImageLinkCheck } from '../../../services/tasks/image-links.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { createGuardedClient } from '../../../providers/guard/address-guard.ts';
import { gif, jpeg, png, webpExtended, webpLossless, webpLossy } from '../../storage/images.ts';
import { useLocalServer } from '../../support/receiver.ts';

const FILES: Readonly<Record<string, Buffer>> = {
  '/a.png': png(64, 64),
  '/a.jpg': jpeg(64, 64),
  '/lossy.webp': webpLossy(64, 64),
  '/lossless.webp': webpLossless(64, 64),
  '/animated.webp': webpExtended(64, 64),
  '/png-named.txt': png(64, 64),
  '/photo.jpg': jpeg(6000, 4000, Array<Buffer>(4).fill(Buffer.alloc(65_000))),
  '/edited.jpg': jpeg(6000, 4000, Array<Buffer>(60).fill(Buffer.alloc(65_000))),
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
  '/moved-twice.png': (_incoming, answer) => answer.writeHead(302, { location: '/moved.png' }).end(),
  '/moved-thrice.png': (_incoming, answer) => answer.writeHead(302, { location: '/moved-twice.png' }).end(),
  '/named.png': (incoming, answer) =>
    answer.writeHead(incoming.headers['user-agent'] === 'Genway/1' ? 200 : 403).end(png(64, 64)),
  '/round.png': (_incoming, answer) => answer.writeHead(302, { location: '/round.png' }).end(),
  '/inside.png': (_incoming, answer) => answer.writeHead(302, { location: 'http://10.0.0.1/a.png' }).end(),
  '/metadata.png': (_incoming, answer) => answer.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  '/silent.png': () => {},
  '/slow.png': (_incoming, answer) => void setTimeout(() => answer.end(png(64, 64)), 300),
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

/** A storage that no link leads to. */
const NO_STORAGE = { keyOf: () => null, read: async () => null };

async function* bytesOf(file: Buffer | undefined): AsyncGenerator<Uint8Array> {
  if (file !== undefined) yield file;
}

/** Segments of JPEG metadata for as long as the client reads. */
function sendWithoutEnd(answer: Parameters<RequestListener>[1]): void {
  const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0xff, 0xff]), Buffer.alloc(0xfffd)]);
  const send = () => {
    while (!answer.destroyed && answer.write(segment));
  };
  answer.on('drain', send);
  send();
}

describe('the check of image links', () => {
  const client = createGuardedClient({ allowPrivateAddresses: true });
  after(() => client.close());
  /** The requests that the server received. */
  const asked: string[] = [];

  const server = useLocalServer((incoming, answer) => {
    asked.push(incoming.url ?? '');
    const path = (incoming.url ?? '').split('?', 1)[0] ?? '';
    const listener = PATHS[path];
    if (listener === undefined) answer.end(FILES[path]);
    else listener(incoming, answer);
  });

  async function messageFor(...paths: readonly string[]): Promise<string> {
    const urls = paths.map((path) => (path.startsWith('/') ? server.url + path : path));
    try {
      // A new check each time: it does not remember refusals by another.
      await createImageLinkCheck({ client, storage: NO_STORAGE, timeoutMs: 1000 })(urls);
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
    '/edited.jpg',
    '/moved.png',
    '/moved-twice.png',
    '/endless.png',
    '/ranged.png',
    '/named.png',
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
    ['/moved-thrice.png', 'could not be fetched: its server redirected too often'],
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
      // contract 4.3:15
      expect(await messageFor('/a.png', path)).to.equal(`bad_request: "images[1]" ${problem}`);
    });
  }

  it('accepts sixteen links at once', async () => {
    expect(await messageFor(...Array<string>(16).fill('/a.png'))).to.equal('accepted');
  });

  it('does not wait for the other links when one is refused', async () => {
    const urls = [`${server.url}/silent.png`, `${server.url}/gif-named.png`];
    const check = createImageLinkCheck({ client, storage: NO_STORAGE, timeoutMs: 60_000 });
    const failure = await check(urls).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(ServiceError).with.property('message').that.contains('"images[1]"');
  });

  describe('the number of requests', () => {
    const check = (paths: readonly string[], checker = createImageLinkCheck({ client, storage: NO_STORAGE })) =>
      checker(paths.map((path) => server.url + path)).then(
        () => 'accepted',
        (error: unknown) => (error instanceof ServiceError ? error.message : String(error)),
      );

    beforeEach(() => asked.splice(0));

    it('requests each distinct link once', async () => {
      const paths = ['/a.png', '/a.png', '/a.jpg', '/a.png#x', '/a.jpg'];
      expect(await check(paths)).to.equal('accepted');
      expect(asked.toSorted()).to.deep.equal(['/a.jpg', '/a.png']);
    });

    it('names the first place of a link that is refused', async () => {
      expect(await check(['/a.png', '/gif-named.png', '/gif-named.png'])).to.match(/^"images\[1\]"/);
    });

    it('sends at most three requests for a link, redirects included', async () => {
      // contract 4.3:16
      expect(await check(['/moved-thrice.png'])).to.contain('redirected too often');
      expect(asked).to.deep.equal(['/moved-thrice.png', '/moved-twice.png', '/moved.png']);
      await check(Array.from({ length: 16 }, (_, index) => `/round.png?${index}`));
      expect(asked.length).to.be.at.most(3 * 17);
    });

    it('requests nothing again for a link that was refused within the minute', async () => {
      // contract 4.3:17
      const checker = createImageLinkCheck({ client, storage: NO_STORAGE });
      const first = await check(['/missing.png'], checker);
      expect(first).to.contain('status 404');
      expect(await check(['/a.png', '/missing.png'], checker)).to.equal(first.replace('[0]', '[1]'));
      // Late requests of the test before may still arrive.
      expect(asked.filter((path) => !path.startsWith('/round'))).to.deep.equal(['/missing.png']);
    });

    it('does not treat a link as refused because another one was', async () => {
      const checker = createImageLinkCheck({ client, storage: NO_STORAGE });
      expect(await check(['/slow.png', '/gif-named.png'], checker)).to.match(/^"images\[1\]"/);
      expect(await check(['/slow.png'], checker)).to.equal('accepted');
    });

    it('requests no server for a stored file, whose link may lead to a private address', async () => {
      // contract 4.3:18 8.4:4
      const storage = {
        keyOf: (url: string) => (url.startsWith('http://10.0.0.1/files/') ? url.slice(22) : null),
        read: async (key: string) => (Object.hasOwn(FILES, `/${key}`) ? bytesOf(FILES[`/${key}`]) : null),
      };
      const strict = createGuardedClient({ allowPrivateAddresses: false });
      const judge = async (key: string) =>
        createImageLinkCheck({ client: strict, storage })([`http://10.0.0.1/files/${key}`]).then(
          () => 'accepted',
          (error: unknown) => String(error),
        );
      expect(await judge('a.png')).to.equal('accepted');
      expect(await judge('gif-named.png')).to.contain('must be a PNG, JPEG or WebP image');
      expect(await judge('gone.png')).to.contain('there is no such file');
      expect(asked).to.deep.equal([]);
      await strict.close();
    });
  });

  it('accepts an empty list', async () => {
    expect(await messageFor()).to.equal('accepted');
  });
});

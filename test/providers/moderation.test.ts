import { expect } from 'chai';
import type { RequestListener } from 'node:http';
import { createHttpModerator, type HttpModeratorOptions } from '../../providers/moderation.ts';
import { ProviderUnreachableError } from '../../providers/media/outcomes.ts';
import { useSimulator } from '../support/simulator.ts';
import { serveLocally } from '../../lab/stack/local-server.ts';
import { rejectionOf } from '../support/rejection.ts';

const IMAGES = ['https://images.example.com/a.png', 'https://images.example.com/b.png'];

const imagePart = (link: string | undefined) => ({ type: 'image_url', image_url: { url: link } });

describe('the moderation client', () => {
  const simulator = useSimulator();

  async function check(text: string, images: readonly string[] = [], options: Partial<HttpModeratorOptions> = {}) {
    const moderator = createHttpModerator({ url: `${simulator.url}/v1/moderations`, key: 'secret', ...options });
    try {
      return await moderator.check({ text, images });
    } finally {
      await moderator.close();
    }
  }

  /** The client's result for a server with this answer. */
  async function checkAgainst(listener: RequestListener, options: Partial<HttpModeratorOptions> = {}) {
    const server = await serveLocally(listener);
    try {
      return await check('A lighthouse', IMAGES, { url: server.url, ...options });
    } finally {
      await server.close();
    }
  }

  it('accepts ordinary inputs', async () => {
    expect(await check('A lighthouse', IMAGES)).to.deep.equal({ flagged: false, categories: [] });
  });

  it('names the flagged categories', async () => {
    expect(await check('please flag me')).to.deep.equal({ flagged: true, categories: ['violence'] });
  });

  it('sends the text with the first image and every other image alone, with its key and model', async () => {
    const received: unknown[] = [];
    await checkAgainst(
      (incoming, answer) => {
        let body = '';
        incoming.on('data', (part) => (body += part));
        incoming.on('end', () => {
          received.push([incoming.method, incoming.headers.authorization, JSON.parse(body)]);
          answer.end('{"results": [{"flagged": false, "categories": {}}]}');
        });
      },
      { model: 'guard-1' },
    );
    const text = { type: 'text', text: 'A lighthouse' };
    expect(received).to.have.deep.members([
      ['POST', 'Bearer secret', { model: 'guard-1', input: [text, imagePart(IMAGES[0])] }],
      ['POST', 'Bearer secret', { model: 'guard-1', input: [imagePart(IMAGES[1])] }],
    ]);
  });

  it('flags the whole input for one flagged image', async () => {
    let requests = 0;
    const verdict = await checkAgainst((_incoming, answer) => {
      requests += 1;
      const flagged = requests === 2;
      answer.end(JSON.stringify({ results: [{ flagged, categories: { violence: flagged, hate: false } }] }));
    });
    expect(verdict).to.deep.equal({ flagged: true, categories: ['violence'] });
  });

  const broken: Readonly<Record<string, RequestListener>> = {
    'answers 500': (_incoming, answer) => answer.writeHead(500).end('{"results": [{"flagged": false}]}'),
    'answers 401': (_incoming, answer) => answer.writeHead(401).end('{"results": [{"flagged": false}]}'),
    redirects: (_incoming, answer) => answer.writeHead(302, { location: '/' }).end('{"results": [{"flagged": false}]}'),
    'answers with a page': (_incoming, answer) => answer.end('<!doctype html>'),
    'answers with nothing': (_incoming, answer) => answer.end(),
    'answers without results': (_incoming, answer) => answer.end('{}'),
    'answers with no result': (_incoming, answer) => answer.end('{"results": []}'),
    'answers with half a result': (_incoming, answer) => answer.end('{"results": [{"flagged": "no"}]}'),
    'answers with null': (_incoming, answer) => answer.end('{"results": [null]}'),
    'answers without an end': (_incoming, answer) => {
      const send = () => {
        while (!answer.destroyed && answer.write(' '.repeat(65_536)));
      };
      answer.on('drain', send);
      send();
    },
    'drops the connection': (incoming) => incoming.socket.destroy(),
    'says nothing': () => {},
  };

  for (const [what, listener] of Object.entries(broken)) {
    it(`has no verdict when the service ${what}`, async () => {
      const error = await rejectionOf(checkAgainst(listener, { timeoutMs: 500 }));
      expect(error).to.be.instanceOf(ProviderUnreachableError);
    });
  }
});

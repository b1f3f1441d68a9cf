import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadUpstreams, type Upstreams } from '../../providers/upstreams.ts';

const STUDIO = { name: 'studio', protocol: 'http-jobs', base_url: 'https://render.example/studio', api_key: 'key' };

describe('the file of upstreams', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-upstreams-'));
  });
  after(() => rm(folder, { recursive: true }));

  async function load(document: unknown): Promise<Upstreams> {
    const path = join(folder, 'upstreams.yaml');
    await writeFile(path, JSON.stringify(document));
    return loadUpstreams(path);
  }

  const refusal = (document: unknown): Promise<string> =>
    load(document).then(
      () => 'nothing is refused',
      (error: unknown) => String(error),
    );

  it('names media upstreams, of which some sign callbacks', async () => {
    const { media } = await load({
      media: [STUDIO, { ...STUDIO, name: 'other', callback_secret: 'a-secret-of-16-or-more' }],
    });
    expect(media).to.deep.equal([
      { name: 'studio', baseUrl: 'https://render.example/studio', apiKey: 'key', callbackSecret: null },
      {
        name: 'other',
        baseUrl: 'https://render.example/studio',
        apiKey: 'key',
        callbackSecret: 'a-secret-of-16-or-more',
      },
    ]);
  });

  for (const [what, upstream, field] of [
    ['a callback secret that can be guessed', { ...STUDIO, callback_secret: 'short' }, 'callback_secret'],
    ['an address that is none', { ...STUDIO, base_url: 'studio' }, 'base_url'],
    ['another protocol', { ...STUDIO, protocol: 'gopher' }, 'protocol'],
    ['no key', { ...STUDIO, api_key: '' }, 'api_key'],
    ['an unknown field', { ...STUDIO, secret: 'x' }, 'secret'],
  ] as const) {
    it(`is refused with ${what}, naming file and field`, async () => {
      const message = await refusal({ media: [upstream] });
      expect(message).to.contain('upstreams.yaml').and.contain(field);
    });
  }

  it('is refused when two upstreams have one name', async () => {
    expect(await refusal({ media: [STUDIO, STUDIO] })).to.contain('media[1]');
  });
});

import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOperatorFile, writeFindings } from '../../catalogue/operator-file.ts';
import { MEDIA_PROTOCOLS } from '../../providers/media/protocols.ts';
import { checkUpstreams, type Upstreams, NO_LIMITS } from '../../providers/upstreams.ts';
import { useTestFolder } from '../support/started.ts';

const KLING = { name: 'kling', protocol: 'kling', api_key: 'key' };
const STUDIO = { name: 'studio', protocol: 'http-jobs', base_url: 'https://render.example/studio', api_key: 'key' };
const EVERYTHING = { name: 'everything', base_url: 'https://one.example/v1', api_key: 'sk-one' };

describe('the file of upstreams', () => {
  const folder = useTestFolder();

  async function load(document: unknown): Promise<Upstreams> {
    const path = join(folder, 'upstreams.yaml');
    await writeFile(path, JSON.stringify(document));
    const { value, findings } = checkUpstreams(readOperatorFile(path, () => undefined));
    if (!value) throw new Error(writeFindings(findings).join('\n'));
    return value;
  }

  const refusal = (document: unknown): Promise<string> =>
    load(document).then(
      () => 'nothing is refused',
      (error: unknown) => String(error),
    );

  it('configures media upstreams, with optional callbacks and limits', async () => {
    const { media } = await load({
      media: [
        STUDIO,
        { ...STUDIO, name: 'other', callback_secret: 'a-secret-of-16-or-more' },
        { ...STUDIO, name: 'small', steps_per_second: 0.5, concurrent_steps: 4 },
      ],
    });
    const studio = {
      protocol: 'http-jobs',
      adapter: MEDIA_PROTOCOLS['http-jobs'],
      baseUrl: 'https://render.example/studio',
      credential: { apiKey: 'key' },
      callbackSecret: null,
      keysUrl: null,
      addresses: {},
      onUnknown: 'give_up',
      resultOrigins: [],
      poll: null,
    };
    expect(media).to.deep.equal([
      { ...studio, name: 'studio', limits: NO_LIMITS },
      { ...studio, name: 'other', callbackSecret: 'a-secret-of-16-or-more', limits: NO_LIMITS },
      { ...studio, name: 'small', limits: { stepsPerSecond: 0.5, concurrentSteps: 4 } },
    ]);
  });

  it('lets the operator choose among the APIs of a vendor', async () => {
    const { media } = await load({ media: [KLING, { ...KLING, name: 'newer', api: 'standard' }] });
    expect(media.map(({ adapter }) => adapter)).to.deep.equal([
      MEDIA_PROTOCOLS.kling,
      MEDIA_PROTOCOLS.kling.apis?.['standard'],
    ]);
  });

  for (const [what, upstream, field] of [
    ['a callback secret that can be guessed', { ...STUDIO, callback_secret: 'short' }, 'callback_secret'],
    ['an address that is none', { ...STUDIO, base_url: 'studio' }, 'base_url'],
    ['a rate of nothing', { ...STUDIO, steps_per_second: 0 }, 'steps_per_second'],
    ['half a step at once', { ...STUDIO, concurrent_steps: 0.5 }, 'concurrent_steps'],
    ['another protocol', { ...STUDIO, protocol: 'gopher' }, 'protocol'],
    ['an API where the protocol has one', { ...STUDIO, api: 'standard' }, 'api'],
    ['an API that the vendor does not have', { ...KLING, api: 'v9' }, 'api'],
    [
      'a pair of keys, where the API takes one',
      { ...KLING, api: 'standard', api_key: undefined, access_key: 'a', secret_key: 'b' },
      'api_key',
    ],
    ['no key', { ...STUDIO, api_key: '' }, 'api_key'],
    ['no address, where the protocol has none', { ...STUDIO, base_url: undefined }, 'base_url'],
    [
      'a pair of keys, where the protocol takes one',
      { ...STUDIO, api_key: undefined, access_key: 'a', secret_key: 'b' },
      'api_key',
    ],
    ['an address that the protocol does not know', { ...STUDIO, requests_url: 'https://a.example' }, 'requests_url'],
    ['an origin with a path', { ...STUDIO, result_origins: ['https://a.example/files'] }, 'result_origins[0]'],
    ['a variable that is not set', { ...STUDIO, api_key: '${STUDIO_KEY}' }, 'STUDIO_KEY'],
    ['half a pace of polls', { ...STUDIO, poll: { first_ms: 100 } }, 'poll.every_ms'],
    ['another way with lost answers', { ...STUDIO, on_unknown: 'hope' }, 'on_unknown'],
    ['an unknown field', { ...STUDIO, secret: 'x' }, 'secret'],
  ] as const) {
    it(`is refused with ${what}, naming file and field`, async () => {
      const message = await refusal({ media: [upstream] });
      expect(message).to.contain('upstreams.yaml').and.contain(field);
    });
  }

  it('is refused when two upstreams have one name', async () => {
    expect(await refusal({ media: [STUDIO, STUDIO] })).to.contain('media[1]');
    expect(await refusal({ text: [EVERYTHING, EVERYTHING] })).to.contain('text[1]');
  });

  it('names one address for all formats of a text upstream, or one for each', async () => {
    const baseUrls = { messages: 'https://two.example/v1', 'generate-content': 'https://two.example/v1beta' };
    const { text } = await load({ text: [EVERYTHING, { name: 'some', base_urls: baseUrls, api_key: 'sk-two' }] });
    expect(text[0]?.baseUrls).to.deep.equal({
      'chat-completions': 'https://one.example/v1',
      responses: 'https://one.example/v1',
      messages: 'https://one.example/v1',
      'generate-content': 'https://one.example/v1',
    });
    expect(text[1]).to.deep.equal({ name: 'some', apiKeys: ['sk-two'], baseUrls });
  });

  it('derives the addresses of a text upstream’s formats from a bare address, and keeps one with a version unchanged', async () => {
    const addressOf = async (base_url: string): Promise<unknown> =>
      (await load({ text: [{ ...EVERYTHING, base_url }] })).text[0]?.baseUrls;
    for (const base_url of ['https://one.example', 'https://one.example/']) {
      expect(await addressOf(base_url)).to.deep.equal({
        'chat-completions': 'https://one.example/v1',
        responses: 'https://one.example/v1',
        messages: 'https://one.example/v1',
        'generate-content': 'https://one.example/v1beta',
      });
    }
    expect(await addressOf('https://one.example/anthropic')).to.include({
      messages: 'https://one.example/anthropic/v1',
    });
    for (const base_url of ['https://one.example/api/paas/v4', 'https://one.example/v1beta/openai']) {
      expect(await addressOf(base_url)).to.include({ 'chat-completions': base_url });
    }
  });

  it('gives a text upstream several keys, its own headers, and limits on the start of a stream and on silence in a whole answer', async () => {
    const headers = { 'OpenAI-Organization': 'org_1' };
    const several = {
      ...EVERYTHING,
      api_key: undefined,
      api_keys: ['sk-1', 'sk-2'],
      headers,
      first_byte_timeout_s: 0.5,
      silence_timeout_s: 90,
    };
    expect((await load({ text: [several] })).text[0]).to.deep.include({
      apiKeys: ['sk-1', 'sk-2'],
      headers: { 'openai-organization': 'org_1' },
      firstByteTimeoutMs: 500,
      silenceTimeoutMs: 90_000,
    });
  });

  for (const [what, fields, field] of [
    ['no key', { api_key: undefined }, 'api_key'],
    ['one key and several', { api_keys: ['sk-2'] }, 'api_keys'],
    ['no key in a list of keys', { api_key: undefined, api_keys: [] }, 'api_keys'],
    ['a key twice', { api_key: undefined, api_keys: ['sk-2', 'sk-2'] }, 'api_keys[1]'],
    ['a header by which HTTP works', { headers: { 'Content-Length': '1' } }, 'Content-Length'],
    ['a header of two lines', { headers: { 'x-a': 'b\r\nc: d' } }, 'x-a'],
    ['a stream that may take no time to begin', { first_byte_timeout_s: 0 }, 'first_byte_timeout_s'],
    ['a silence longer than a day', { silence_timeout_s: 86_401 }, 'silence_timeout_s'],
    ['no address', { base_url: undefined }, 'base_url'],
    ['both kinds of addresses', { base_urls: { messages: 'https://one.example' } }, 'base_urls'],
    ['an empty list of addresses', { base_url: undefined, base_urls: {} }, 'base_urls'],
    ['an unknown format', { base_url: undefined, base_urls: { letters: 'https://one.example' } }, 'letters'],
    ['an address of another scheme', { base_url: 'ftp://one.example' }, 'base_url'],
  ] as const) {
    it(`is refused with ${what} for a text upstream, naming file and field`, async () => {
      const message = await refusal({ text: [{ ...EVERYTHING, ...fields }] });
      expect(message).to.contain('upstreams.yaml').and.contain(field);
    });
  }
});

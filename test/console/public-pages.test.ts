import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseOperatorFile } from '../../catalogue/operator-file.ts';
import { checkSite, OWN_SITE, type Plan, type Site } from '../../catalogue/site.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import { parseUsd } from '../../domain/money.ts';
import { PlayedBilling } from '../support/plan-billing.ts';
import { startTestConsole, Visitor } from '../support/console.ts';
import { useStarted } from '../support/started.ts';
import { CATALOGUE } from '../support/catalogue.ts';
import { ALL_MODELS } from '../support/dependencies.ts';
import { publicOffer } from '../../services/operations/public-offer.ts';

const LOGO = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const TERMS =
  '# Rules\n\nBe kind. <script>alert(1)</script> [a link](javascript:alert(1)) [another](https://acme.example/)';
/** The start of a picture. */
const WEBP = 'RIFF0000WEBPVP8 ';
const RATE = { code: 'CNY', usdRate: 7.1, date: '2026-11-29' };
const PLAN: Plan = {
  id: 'basic',
  name: { en: 'Basic', zh: '基础' },
  usdPerMonth: parseUsd(10),
  included: parseUsd(12),
  models: ['textg-*', 'vidone-3.0'],
  rateLimitRpm: 1_200,
  seats: 5,
  stripePrice: 'price_basic',
};
const FILE = `name: Acme & Söhne
logo: logo.svg
color: "#0f766e"
support: help@acme.example
announcement: { en: "Maintenance on <b>Sunday</b>", zh: 周日维护 }
links: [{ label: { en: Blog, zh: 博客 }, url: "https://acme.example/blog" }]
terms: { version: "2026-11-01", file: terms.md }
public: true
`;

describe('a site of the operator', () => {
  let folder: string;
  let site: Site = OWN_SITE;
  let catalogue: Catalogue = CATALOGUE;
  const app = useStarted(() =>
    startTestConsole({
      site: () => site,
      catalogue: () => catalogue,
      settings: { checkout: new PlayedBilling('public').pages },
    }),
  );

  /** Checks a file beside the logo and the terms. */
  const check = (text: string) => checkSite(parseOperatorFile(text, join(folder, 'site.yaml'), () => undefined));

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-site-'));
    await Promise.all([
      writeFile(join(folder, 'logo.svg'), LOGO),
      writeFile(join(folder, 'terms.md'), TERMS),
      writeFile(join(folder, 'picture.gif'), 'GIF89a'),
      writeFile(join(folder, 'kite.webp'), WEBP),
    ]);
  });
  after(() => rm(folder, { recursive: true }));
  beforeEach(() => {
    const { value, findings } = check(FILE);
    expect(findings).to.deep.equal([]);
    site = value ?? OWN_SITE;
    catalogue = CATALOGUE;
  });

  const get = (path: string, headers: Record<string, string> = {}) => fetch(app.baseUrl + path, { headers });
  const read = async (path: string, language = 'en'): Promise<string> => {
    const response = await get(path, { 'accept-language': language });
    expect(response.status, path).to.equal(200);
    return response.text();
  };

  it('has the operator’s name in place of ours on every page, in both languages', async () => {
    const model = [...CATALOGUE.textModels.keys()][0];
    for (const path of [
      '/',
      '/models',
      `/models/${model}`,
      '/pricing',
      '/terms',
      '/status',
      '/docs',
      '/docs/api',
      '/docs/client.json',
      '/console/sign-in',
    ]) {
      for (const language of ['en', 'zh']) {
        const page = await read(path, language);
        expect(page).to.match(/Acme (&|&amp;|&#38;) Söhne/);
        expect(page, path).not.to.contain('Genway');
      }
    }
  });

  it('shows its announcement, logo, links and support as text, without running anything in them', async () => {
    const page = await read('/models');
    expect(page).to.contain('Maintenance on &lt;b&gt;Sunday&lt;/b&gt;');
    expect(page).to.contain('href="https://acme.example/blog"').and.to.contain('href="mailto:help@acme.example"');
    expect(await read('/models', 'zh')).to.contain('周日维护');
    const logo = await get('/console/assets/site-logo');
    expect(logo.headers.get('content-security-policy')).to.contain('sandbox');
    expect(await logo.text()).to.equal(LOGO);
    expect(await read('/console/assets/site.css')).to.contain('--accent: #0f766e');
  });

  it('renders its documents from Markdown with their version, without HTML and scripts', async () => {
    const page = await read('/terms');
    expect(page).to.contain('<h1>Rules</h1>').and.to.contain('2026-11-01');
    expect(page).to.contain('&lt;script&gt;').and.not.to.contain('<script').and.not.to.contain('href="javascript:');
    expect(page).to.contain('href="https://acme.example/"');
    expect((await get('/privacy')).status).to.equal(404);
  });

  it('lists models by kind, family and part of the name, without routes and costs', async () => {
    const all = await read('/models');
    const videos = await read('/models?kind=video&model=VID');
    for (const id of CATALOGUE.videoModels.keys()) expect(all).to.contain(`/models/${encodeURIComponent(id)}"`);
    for (const id of CATALOGUE.textModels.keys()) expect(videos).not.to.contain(`/models/${encodeURIComponent(id)}"`);
    expect(await read('/models?model=no-such-model')).to.contain('No model matches');
    expect(all + (await read('/pricing')) + (await read('/pricing.json'))).not.to.match(/simulator/i);
  });

  it('has a page for each model with its prices and a call in each of its formats', async () => {
    for (const { id, formats, legacy } of CATALOGUE.textModels.values()) {
      if (legacy) continue;
      const page = await read(`/models/${encodeURIComponent(id)}`);
      if (formats.includes('messages')) expect(page).to.contain('/v1/messages');
      expect(page).to.contain('<link rel="canonical"').and.to.contain(id);
    }
    expect((await get('/models/no-such-model')).status).to.equal(404);
  });

  it('lists the catalogue’s prices as JSON to everybody, or to nobody', async () => {
    // contract 4.6:8
    const { data } = JSON.parse(await read('/pricing.json'));
    expect(data.map(({ id }: { id: string }) => id)).to.include.members([...CATALOGUE.videoModels.keys()]);
    site = { ...site, displayCurrency: RATE };
    const { display_currency: currency, data: priced } = JSON.parse(await read('/pricing.json'));
    expect(currency).to.deep.equal({ code: 'CNY', usd_rate: 7.1, date: '2026-11-29' });
    expect(priced).to.deep.equal(data);
    site = { ...site, isPublic: false };
    expect((await get('/pricing.json')).status).to.equal(404);
  });

  it('has a sitemap of all its pages', async () => {
    const sitemap = await read('/sitemap.xml');
    const paths = [...sitemap.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, url = '']) => new URL(url).pathname);
    expect(paths).to.include.members(['/', '/models', '/pricing', '/terms']);
    for (const path of paths) await read(path);
  });

  it('has pages of less than 60 kB in every language, also with 300 models in two currencies', async () => {
    const plan = { ...PLAN, models: Array.from({ length: 100 }, (_, index) => `textg-${index}-*`) };
    site = {
      ...site,
      displayCurrency: RATE,
      plans: Array.from({ length: 20 }, (_, index) => ({ ...plan, id: `p${index}` })),
    };
    catalogue = repeated(CATALOGUE, 300);
    const models = publicOffer(CATALOGUE, ALL_MODELS).map(({ id }) => `/models/${encodeURIComponent(id)}`);
    for (const language of ['en', 'zh']) {
      for (const path of ['/', '/docs', '/status', '/terms', ...models])
        expect(Buffer.byteLength(await read(path, language)), `${path} ${language}`).to.be.below(60_000);
      for (const list of ['/models', '/pricing']) {
        const listed = new Set<string>();
        for (let next: string | undefined = list; next !== undefined;) {
          const page: string = await read(next, language);
          expect(Buffer.byteLength(page), `${next} ${language}`).to.be.below(60_000);
          for (const [, id = ''] of page.matchAll(/href="\/models\/([^"]+)"/g)) listed.add(id);
          const [, more] = /href="([^"]*cursor=[^"]*)"/.exec(page) ?? [];
          next = more && list + more.replaceAll('&amp;', '&');
        }
        expect([...listed], list).to.have.length(300);
      }
    }
    expect(await read('/pricing?kind=image&model=copy')).not.to.contain('/models/vidone');
  });

  it('shows its other currency beside USD on every page with prices, and names the day of the rate', async () => {
    site = { ...site, displayCurrency: RATE };
    for (const path of ['/', '/models', '/models/vidone-3.0', '/pricing'])
      for (const [language, second] of [
        ['en', '/s'],
        ['zh', '/秒'],
      ])
        expect(await read(path, language), path)
          .to.include('2026-11-29')
          .and.match(new RegExp(`\\$0\\.10${second} \\(CNY\\s0\\.71\\)`));
    expect(await read('/pricing')).to.match(/\$0\.0098 \(CNY\s0\.0696\)/);
    site = { ...site, displayCurrency: null };
    expect(await read('/pricing')).not.to.include('CNY');
  });

  it('shows the plans with their terms, and the way to register where people may', async () => {
    site = { ...site, plans: [PLAN], registration: { domains: null, needsApproval: false } };
    for (const path of ['/', '/pricing']) {
      const page = await read(path);
      expect(page, path)
        .to.include('$10.00 a month, $12.00 of credit included')
        .and.include('textg-*')
        .and.match(/Requests per minute:<\/span> 1,200/)
        .and.match(/Seats:<\/span> 5/)
        .and.include('class="button" href="/console/register"');
      expect(await read(path, 'zh')).to.include('基础');
    }
    site = { ...site, registration: null };
    expect(await read('/pricing')).not.to.include('/console/register');
    expect(await read('/pricing?kind=text')).not.to.include('a month');
  });

  it('finds models by capability, with their context, formats and what they accept', async () => {
    const searching = await read('/models?capability=web_search');
    const speaking = await read('/models?capability=audio_output');
    for (const { id, webSearch } of CATALOGUE.textModels.values())
      expect(searching.includes(`/models/${encodeURIComponent(id)}"`), id).to.equal(webSearch !== undefined);
    expect(speaking).to.contain('/models/voice-tts"').and.not.to.contain('/models/voice-stt"');
    const zh = await read('/models/vidone-3.0', 'zh');
    expect(zh)
      .to.match(/<dd>\d+ 至 \d+[^<]*默认 \d+<\/dd>/)
      .and.contain('输入图片');
  });

  it('has an icon, languages and pictures of results of the operator, which previews of links show', async () => {
    site = check(`${FILE}mark: logo.svg\nlanguages: [zh]\npictures: { vidone-3.0: kite.webp }`).value ?? OWN_SITE;
    const page = await read('/models/vidone-3.0');
    expect(page).to.contain('lang="zh"').and.contain('href="/console/assets/site-mark"');
    const [, picture = ''] = /property="og:image" content="([^"]+)"/.exec(page) ?? [];
    expect(page).to.contain(`src="${new URL(picture).pathname}"`);
    const answer = await get(new URL(picture).pathname);
    expect([answer.headers.get('content-type'), await answer.text()]).to.deep.equal(['image/webp', WEBP]);
    expect((await get('/console/assets/results/vidtwo-1.1')).status).to.equal(404);
    const { pathname } = new URL(/property="og:image" content="([^"]+)"/.exec(await read('/pricing'))?.[1] ?? '');
    expect(pathname).to.equal('/console/assets/site-logo');
  });

  it('changes its pages as soon as its file changes', async () => {
    await read('/models');
    site = { ...site, name: 'Zenith' };
    expect(await read('/models'))
      .to.contain('Zenith')
      .and.not.to.contain('Acme');
  });

  it('has the first letter of its name as its mark when it has no picture', async () => {
    site = check('name: <acme>\ncolor: "#0f766e"\npublic: true').value ?? OWN_SITE;
    const mark = await get('/console/assets/site-mark');
    expect(mark.headers.get('content-type')).to.equal('image/svg+xml');
    expect(await mark.text())
      .to.contain('fill="#0f766e"')
      .and.contain('>&#60;</text>');
    expect(await (await get('/')).text()).to.not.contain('/console/assets/icon.svg');
  });

  it('shows strangers no models unless it says so, and has Genway’s name without a file', async () => {
    site = OWN_SITE;
    for (const path of ['/', '/models', '/pricing', '/pricing.json', '/sitemap.xml', '/terms'])
      expect((await get(path)).status, path).to.equal(404);
    expect(await (await get('/')).text()).to.contain('/docs has the guide, and /console the console');
    const visitor = new Visitor(app);
    expect((await visitor.get('/console/sign-in')).text).to.contain('Genway');
    expect((await get('/console/assets/site-logo')).status).to.equal(404);
  });

  for (const [what, text, message] of [
    ['a name', 'public: true', '"name" is required'],
    ['a known field', 'name: A\nnmae: B', 'did you mean "name"?'],
    ['a color that people can read', 'name: A\ncolor: "#ffee00"', 'its contrast with white is 1.2'],
    ['a color in hexadecimal digits', 'name: A\ncolor: "red;}"', 'six hexadecimal digits'],
    ['a picture as logo', 'name: A\nlogo: picture.gif', 'must name a picture in SVG, PNG, JPEG or WebP'],
    ['known languages', 'name: A\nlanguages: [tlh]', 'languages'],
    ['a file that can be read', 'name: A\nterms: { version: "1", file: lost.md }', 'which cannot be read'],
    ['every language', 'name: A\nannouncement: { en: Hello }', 'announcement'],
    ['links over HTTP', 'name: A\nlinks: [{ label: A, url: "javascript:alert(1)" }]', 'http'],
  ] as const) {
    it(`needs ${what}`, () => {
      const { value, findings } = check(text);
      expect(value).to.equal(null);
      expect(findings.map((finding) => finding.message).join()).to.contain(message);
    });
  }
});

/** A catalogue with copies of its models, under other names. */
function repeated(catalogue: Catalogue, count: number): Catalogue {
  const { videoModels, imageModels, textModels } = catalogue;
  const copiesOf = <Model extends { readonly id: string }>(models: ReadonlyMap<string, Model>, total: number) => {
    const sold = [...models.values()].filter((model) => !('legacy' in model && model.legacy));
    const copies = Array.from({ length: total }, (_, index): readonly [string, Model][] => {
      const model = sold[index % sold.length];
      if (model === undefined) return [];
      const id = index < sold.length ? model.id : `${model.id}-copy-${index}`;
      return [[id, { ...model, id }]];
    });
    return new Map(copies.flat());
  };
  return {
    ...catalogue,
    videoModels: copiesOf(videoModels, 40),
    imageModels: copiesOf(imageModels, 40),
    textModels: copiesOf(textModels, count - 80),
  };
}

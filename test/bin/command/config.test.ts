import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Command } from 'commander';
import { type AdminClient, CommandError, connectAdmin } from '../../../bin/command/admin-client.ts';
import { EXIT_CODES } from '../../../bin/command/config-terminal.ts';
import { addConfigCommands } from '../../../bin/command/config.ts';
import { loadCatalogue } from '../../../catalogue/load.ts';
import { speaks } from '../../../catalogue/types.ts';
import { mediaRateCardsOf } from '../../../catalogue/offer.ts';
import { type Finding, parseOperatorFile } from '../../../catalogue/operator-file.ts';
import { loadFilesConfig } from '../../../config.ts';
import { recordRateCards } from '../../../db/queries/rate-cards.ts';
import { recordTextCosts } from '../../../db/queries/text-costs.ts';
import { useTestApp, type TestApp } from '../../support/app.ts';
import { serveLocally } from '../../../lab/stack/local-server.ts';
import { useTestFolder } from '../../support/started.ts';
import { useLocalServer } from '../../support/receiver.ts';
import { completeRates } from '../../../domain/pricing.ts';

const VENDORS = [
  ...new Set(
    [loadCatalogue('catalogue/vendors.yaml')].flatMap(({ textModels, videoModels, imageModels }) =>
      [...textModels.values(), ...videoModels.values(), ...imageModels.values()].flatMap(({ routes }) =>
        routes.map(({ provider }) => provider),
      ),
    ),
  ),
];
const MISTAKES = join(import.meta.dirname, '../../fixtures/mistakes');

interface Answer {
  readonly printed: string;
  readonly exitCode: number;
}

/**
 * @param environment the environment of a process
 * @param connect to the configuration in force
 */
async function config(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  connect: () => Promise<AdminClient> = () => Promise.reject(new CommandError('nothing is running')),
): Promise<Answer> {
  const printed: string[] = [];
  let exitCode = -1;
  const program = new Command('genway').option('--json').exitOverride();
  addConfigCommands(
    program,
    { load: () => loadFilesConfig(environment), connect },
    {
      print: (text) => void printed.push(text),
      isJson: () => program.opts<{ json?: boolean }>().json === true,
      endWith: (code) => void (exitCode = code),
    },
  );
  await program.parseAsync(words, { from: 'user' });
  return { printed: printed.join('\n'), exitCode };
}

describe('genway config check', () => {
  const folder = useTestFolder();

  describe('two files with an error in every line', () => {
    const files = [join(MISTAKES, 'catalogue.yaml'), join(MISTAKES, 'upstreams.yaml')];
    let findings: readonly Finding[];
    before(async () => {
      const { printed, exitCode } = await config(['--json', 'config', 'check', ...files]);
      expect(exitCode).to.equal(EXIT_CODES.wrong);
      findings = JSON.parse(printed).data;
    });

    for (const name of ['catalogue.yaml', 'upstreams.yaml']) {
      it(`reports the error of each wrong line of the ${name}, and of no other line`, async () => {
        const text = await readFile(join(MISTAKES, name), 'utf8');
        const said = findings.filter(({ file }) => file === join(MISTAKES, name));
        const found = new Map(
          said.map(({ line, severity, message }) => [line, severity === 'warning' ? `warning: ${message}` : message]),
        );
        const marked = text.split('\n').flatMap((line, index) => {
          const [, words] = / # → (.*)$/.exec(line) ?? [];
          return words === undefined ? [] : [{ line: index + 1, words }];
        });
        for (const { line, words } of marked) expect(found.get(line), `line ${line}`).to.contain(words);
        expect([...found.keys()]).to.have.members(marked.map(({ line }) => line));
      });
    }

    for (const [opened, closed] of ['[]', '{}']) {
      it(`names a file whose ${opened}${closed} are nested 20,000 deep, and continues`, async () => {
        const file = join(folder, 'deep.yaml');
        await writeFile(file, `version: ${String(opened).repeat(20_000)}${String(closed).repeat(20_000)}`);
        const { printed, exitCode } = await config(['config', 'check', file]);
        expect(exitCode).to.equal(EXIT_CODES.wrong);
        expect(printed).to.contain(`${file}: its brackets are nested more than 100 deep`);
      });
    }

    it('shows no value that may be a secret', () => {
      expect(JSON.stringify(findings)).to.not.match(/secret-of|short-secret|hidden/);
    });

    it('prints a line for each error, with its place, and counts them', async () => {
      const { printed } = await config(['config', 'check', ...files]);
      const lines = printed.split('\n');
      expect(lines[0]).to.equal(`${files[0]}:2:10: "version" must be a string`);
      expect(lines.at(-1)).to.match(/^\d\d mistakes and 6 warnings in .*catalogue.yaml and .*upstreams.yaml\.$/);
      expect(lines).to.have.length(findings.length + 1);
    });
  });

  it('finds no error in the catalogues of Genway', async () => {
    expect(await config(['config', 'check'])).to.deep.include({ exitCode: EXIT_CODES.right });
    const vendors = await config(['config', 'check'], { GENWAY_CATALOGUE: 'catalogue/vendors.yaml' });
    expect(vendors).to.deep.equal({
      printed: 'No mistakes in catalogue/vendors.yaml.',
      exitCode: EXIT_CODES.right,
    });
  });

  it('warns of models sold below cost, and with --online of those that a price list sells below cost', async () => {
    const file = join(folder, 'catalogue.yaml');
    const written = await readFile('catalogue/vendors.yaml', 'utf8');
    const model = loadCatalogue('catalogue/vendors.yaml').videoModels.values().next().value?.id ?? '';
    const dear = written.replace(
      /cost: \{ usd_per_second: \{ 720p: '[\d.]+'/,
      "cost: { usd_per_second: { 720p: '9.10'",
    );
    await writeFile(file, dear);
    const checked = await config(['config', 'check', file]);
    const line = written.split('\n').findIndex((one) => one.includes(`id: ${model}`)) + 1;
    expect(checked.exitCode).to.equal(EXIT_CODES.right);
    expect(checked.printed).to.include(`${file}:${line}:`).and.include(`${model} is sold below cost: 720p, `);
    await writeFile(file, written.replace('\ntext:\n', "\ntext:\n  batch_factor: '0.5'\n"));
    expect((await config(['config', 'check', file])).printed).to.match(
      /gpt-5 is sold below cost: input in batches for [\d.]+ USD, and openai charges 1.25/,
    );
    await writeFile(file, written);
    const answers: Readonly<Record<string, object>> = {
      '/price-lists': { data: [{ name: 'cheap' }] },
      '/price-lists/cheap': { data: { id: 'cheap@3', factor: '0.01', rules: [] } },
    };
    const running = await serveLocally((request, response) => {
      response.end(JSON.stringify(answers[String(request.url).replace('/admin/v1', '')] ?? {}));
    });
    try {
      const connect = () => connectAdmin({ baseUrl: running.url, adminToken: 'x', home: '/nowhere' });
      const upstreams = join(folder, 'upstreams.yaml');
      await writeFile(upstreams, 'media: []\ntext: []\n');
      const { printed } = await config(['config', 'check', '--online', file, upstreams], {}, connect);
      expect(printed).to.include(`cheap@3: ${model} is sold below cost: 720p, `);
    } finally {
      await running.close();
    }
  });

  it('finds each resolution on sale that the upstream of a route cannot render', async () => {
    const path = join(folder, 'catalogue.yaml');
    const vendors = await readFile('catalogue/vendors.yaml', 'utf8');
    const soldAs = async (resolution: string): Promise<string> => {
      // The prices of Kling's model.
      await writeFile(path, vendors.replace("720p: '0.09', 1080p:", `720p: '0.09', ${resolution}:`));
      return (await config(['config', 'check'], { GENWAY_CATALOGUE: path })).printed;
    };
    expect(await soldAs('540p')).to.contain(
      'usd_per_second.540p" must be a resolution that the upstream "kling" renders (720p, 1080p, 4k), not 540p',
    );
    for (const known of ['4k', '2160p']) expect(await soldAs(known)).to.equal(`No mistakes in ${path}.`);
  });

  it('reports that it did not compare routes with upstreams when it checks one file alone', async () => {
    const { printed, exitCode } = await config(['config', 'check', 'catalogue/vendors.yaml']);
    expect(printed).to.contain('Routes and upstreams were not compared: name both files.');
    expect(exitCode).to.equal(EXIT_CODES.right);
  });

  it('compares a given file with the other file, which the environment names', async () => {
    const environment = { GENWAY_PROVIDERS: join(MISTAKES, 'upstreams.yaml') };
    const { printed } = await config(['config', 'check', 'catalogue/vendors.yaml'], environment);
    expect(printed).to.contain('"media.videos[1].route.provider" must be a media upstream, not "kling": it may be fal');
  });

  describe('an unreadable file', () => {
    it('names the file, and continues with the other', async () => {
      const { printed, exitCode } = await config([
        'config',
        'check',
        join(MISTAKES, 'upstreams.yaml'),
        '/nowhere.yaml',
      ]);
      expect(printed).to.contain('/nowhere.yaml: it cannot be read: ENOENT').and.contain('did you mean "fal"?');
      expect(exitCode).to.equal(EXIT_CODES.wrong);
    });

    it('reports where the file is not YAML, without showing the line', async () => {
      const path = join(folder, 'broken.yaml');
      await writeFile(path, 'text:\n  - name: x\n     api_key: sk-secret\n  - name: "y\n');
      const { printed } = await config(['config', 'check', path]);
      expect(printed)
        .to.match(/broken\.yaml:\d+:\d+: this is not valid YAML: /)
        .and.not.contain('sk-secret');
    });

    it('refuses two files of one kind', async () => {
      const refused = config(['config', 'check', 'catalogue/vendors.yaml', 'catalogue/catalogue.yaml']);
      expect(await refused.catch(String)).to.contain('are both catalogues: name one of them');
    });
  });
});

describe('genway config init', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-init-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const init = (...vendors: string[]) => config(['config', 'init', ...vendors, '--folder', folder]);
  const read = (name: string) => readFile(join(folder, name), 'utf8');

  for (const vendors of [...VENDORS.map((name) => [name]), VENDORS]) {
    it(`writes two files without errors, for ${vendors.join(', ')}`, async () => {
      const { printed } = await init(...vendors);
      expect(printed).to.contain(`Wrote ${folder}/catalogue.yaml and ${folder}/upstreams.yaml.`);
      const secrets = [...(await read('upstreams.yaml')).matchAll(/\$\{(\w+)\}/g)].map(([, name]) => String(name));
      const environment = Object.fromEntries(
        secrets.map((name) => [name, name.endsWith('_PROJECT') ? 'project-1' : 'https://vendor.example']),
      );
      const files = [`${folder}/catalogue.yaml`, `${folder}/upstreams.yaml`];
      const check = await config(['config', 'check', ...files], environment);
      expect(check).to.deep.equal({
        printed: `No mistakes in ${folder}/catalogue.yaml and ${folder}/upstreams.yaml.`,
        exitCode: EXIT_CODES.right,
      });
      const { textModels, videoModels, imageModels } = loadCatalogue(`${folder}/catalogue.yaml`);
      for (const { compatibility } of textModels.values()) expect(compatibility).to.equal('full');
      const sold = [...textModels.values(), ...videoModels.values(), ...imageModels.values()];
      const providers = sold.flatMap(({ routes }) => routes.map(({ provider }) => provider));
      expect(new Set(providers)).to.deep.equal(new Set(vendors));
    });
  }

  it('writes the models of each list that the vendors have', async () => {
    await init('openai', 'google');
    const { textModels } = loadCatalogue(`${folder}/catalogue.yaml`);
    const formats = [...textModels.values()].flatMap((model) => model.formats);
    expect(formats).to.include.members(['speech', 'transcriptions', 'translations', 'realtime', 'responses']);
    expect([...textModels.values()].filter(({ routes }) => routes.some(speaks)).map(({ id }) => id)).to.deep.equal([
      'gpt-audio',
      'gpt-audio-mini',
    ]);
    await rm(folder, { recursive: true });
    folder = await mkdtemp(join(tmpdir(), 'genway-init-'));
    await init('anthropic');
    expect(await read('catalogue.yaml')).to.not.match(/^ {2}(voice|realtime):/m);
  });

  it('writes models that sell searches of the web where the vendor publishes a price of them, above that price', async () => {
    await init('openai', 'anthropic', 'google', 'vertex', 'bedrock');
    const { textModels } = loadCatalogue(`${folder}/catalogue.yaml`);
    const selling = [...textModels.values()].filter(({ webSearch }) => webSearch !== undefined);
    expect(selling.map(({ id }) => id)).to.deep.equal([
      'gpt-5',
      'claude-sonnet-4-6',
      'gemini-3-flash-preview',
      'vertex-gemini-3-flash',
    ]);
    for (const { id, pricing, routes } of selling) {
      const costs = routes.map(({ cost }) => cost?.rates.webSearch ?? 0n);
      expect(
        costs.every((cost) => cost > 0n && cost < pricing.rates.webSearch),
        id,
      ).to.equal(true);
    }
  });

  it('makes the folder', async () => {
    const inner = join(folder, 'sites', 'acme');
    await config(['config', 'init', 'fal', '--folder', inner]);
    expect(await readdir(inner)).to.deep.equal(['catalogue.yaml', 'upstreams.yaml']);
  });

  it('overwrites no file', async () => {
    await writeFile(join(folder, 'upstreams.yaml'), 'mine');
    expect(await init('fal').catch(String)).to.contain('upstreams.yaml exists. Move it away');
    expect(await readdir(folder)).to.deep.equal(['upstreams.yaml']);
    expect(await read('upstreams.yaml')).to.equal('mine');
  });

  it('lists the known vendors when the command names an unknown one', async () => {
    expect(await init('fal', 'fall').catch(String)).to.contain(
      'There is no vendor "fall". Name some of anthropic, ark',
    );
    expect(await readdir(folder)).to.deep.equal([]);
  });
});

describe('genway config check --online', () => {
  const folder = useTestFolder();
  const asked: string[] = [];

  const vendor = useLocalServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const { authorization, 'x-goog-api-key': googleKey } = request.headers;
    if (googleKey !== undefined) response.writeHead(400).end('{"error":{"details":[{"reason":"API_KEY_INVALID"}]}}');
    else if (authorization?.endsWith('good')) response.writeHead(200).end('{"data":[]}');
    else if (authorization?.endsWith('lost')) response.writeHead(404).end('{}');
    else response.writeHead(401).end('{}');
  });
  beforeEach(() => asked.splice(0));

  async function online(document: object): Promise<Answer> {
    const path = join(folder, 'upstreams.yaml');
    await writeFile(path, JSON.stringify(document));
    return config(['config', 'check', '--online', path]);
  }

  it('reports for each upstream and key whether the vendor accepts it, and exits with a code of its own', async () => {
    const base_url = vendor.url;
    const { printed, exitCode } = await online({
      media: [
        { name: 'studio', protocol: 'http-jobs', base_url, api_key: 'key-good' },
        { name: 'partner', protocol: 'openai-videos', base_url, api_key: 'key-bad' },
        { name: 'gone', protocol: 'http-jobs', base_url: 'http://127.0.0.1:9', api_key: 'key-good' },
      ],
      text: [
        { name: 'several', base_url, api_keys: ['key-good', 'key-bad', 'key-lost'] },
        { name: 'google', base_urls: { 'generate-content': `${base_url}/v1beta` }, api_key: 'key-good' },
      ],
    });
    expect(printed.split('\n').slice(1)).to.deep.equal([
      `studio: ${base_url} answers, and accepts the key …good (it answers 200)`,
      `partner: ${base_url} refuses the key …-bad (it answers 401)`,
      'gone: http://127.0.0.1:9 cannot be reached with the key …good (connect ECONNREFUSED 127.0.0.1:9)',
      `several: ${base_url}/v1 answers, and accepts the key …good (it answers 200)`,
      `several: ${base_url}/v1 refuses the key …-bad (it answers 401)`,
      `several: ${base_url}/v1 answers, but does not show whether it accepts the key …lost (it answers 404)`,
      `google: ${base_url}/v1beta refuses the key …good (it answers 400)`,
    ]);
    expect(exitCode).to.equal(EXIT_CODES.unreachable);
    expect(asked.every((call) => call.startsWith('GET '))).to.equal(true);
  });

  describe('a catalogue with models that vendors have retired', () => {
    let listed: object;
    const google = useLocalServer((_request, response) => response.end(JSON.stringify(listed)));

    /** Checks a catalogue whose routes name these models at Google. */
    async function check(model: string, model_with_images: string): Promise<Answer> {
      const catalogue = join(folder, 'catalogue.yaml');
      const upstreams = join(folder, 'upstreams.yaml');
      const video = {
        id: 'video',
        capability_version: null,
        prompt_characters: { min: 1, max: 2000 },
        images: { max: 1, required: false },
        max_reference_videos: null,
        max_reference_audios: null,
        durations_seconds: [8],
        aspect_ratios: ['16:9'],
        default_aspect_ratio: '16:9',
        usd_per_second: { '720p': '0.48' },
        default_resolution: '720p',
        route: { provider: 'google', model, model_with_images },
      };
      const media = [{ name: 'google', protocol: 'google', base_url: google.url, api_key: 'key-good' }];
      await writeFile(catalogue, JSON.stringify({ version: '1', media: { videos: [video] } }));
      await writeFile(upstreams, JSON.stringify({ media }));
      return config(['config', 'check', '--online', catalogue, upstreams]);
    }

    it('names the models that are missing from the vendor’s own list, and the day for known ones', async () => {
      listed = { models: [{ name: 'models/veo-9' }] };
      const { printed, exitCode } = await check('veo-3.1-generate-preview', 'veo-8');
      expect(printed.split('\n').slice(-2)).to.deep.equal([
        'google: the vendor retired the model veo-3.1-generate-preview of a route on 2026-10-22',
        'google: the vendor does not list the model veo-8 of a route',
      ]);
      expect(exitCode).to.equal(EXIT_CODES.unreachable);
    });

    it('trusts the vendor’s own list', async () => {
      listed = { models: [{ name: 'models/veo-3.1-generate-preview' }] };
      const { exitCode } = await check('veo-3.1-generate-preview', 'veo-3.1-generate-preview');
      expect(exitCode).to.equal(EXIT_CODES.right);
    });

    it('names the models known to be retired if the vendor has no complete list', async () => {
      for (const answer of [{ models: [] }, { models: [{ name: 'models/veo-9' }], nextPageToken: 'more' }, {}]) {
        listed = answer;
        const { printed } = await check('veo-3.1-generate-preview', 'veo-8');
        expect(printed.split('\n').slice(3)).to.deep.equal([
          'google: the vendor retired the model veo-3.1-generate-preview of a route on 2026-10-22',
        ]);
      }
    });
  });

  it('succeeds when the vendors accept every key', async () => {
    const { exitCode } = await online({ text: [{ name: 'one', base_url: vendor.url, api_key: 'key-good' }] });
    expect(exitCode).to.equal(EXIT_CODES.right);
  });

  it('sends no request when the file is invalid', async () => {
    const { printed, exitCode } = await online({ text: [{ name: 'one', base_url: vendor.url }] });
    expect(printed).to.contain('No upstream was checked');
    expect(exitCode).to.equal(EXIT_CODES.wrong);
    expect(asked).to.deep.equal([]);
  });
});

describe('genway config diff', () => {
  const app = useTestApp();
  const folder = useTestFolder();
  let text: string;

  before(async () => {
    text = await readFile('catalogue/catalogue.yaml', 'utf8');
  });

  /** @param replacements in the catalogue in force */
  async function diff(...replacements: readonly (readonly [string, string])[]): Promise<Answer> {
    const changed = replacements.reduce((yaml, [from, to]) => {
      expect(yaml).to.contain(from);
      return yaml.replace(from, to);
    }, text);
    const path = join(folder, 'next.yaml');
    await writeFile(path, changed);
    const connect = () => connectAdmin({ baseUrl: app.baseUrl, adminToken: app.adminToken, home: '/nowhere' });
    return config(['config', 'diff', path], {}, connect);
  }

  const NEW_VERSION = ["version: '2026-10-01'", "version: '2027-01-01'"] as const;
  const DEARER_VIDEO = ["usd_per_second: { 720p: '0.10'", "usd_per_second: { 720p: '0.12'"] as const;
  const CHEAPER_TEXT = ["input: '0.21'", "input: '0.20'"] as const;

  it('reports that nothing changes if nothing does', async () => {
    expect(await diff()).to.deep.equal({ printed: 'Nothing changes: 2026-10-01.', exitCode: EXIT_CODES.right });
  });

  it('shows the changes of prices, limits and models as a table', async () => {
    // contract 4.11:43
    const { printed, exitCode } = await diff(
      NEW_VERSION,
      DEARER_VIDEO,
      CHEAPER_TEXT,
      ['threshold_tokens: 512000', 'threshold_tokens: 500000'],
      ['max_output_tokens: 65536\n', 'max_output_tokens: 60000\n'],
      ['- id: texti-k3', '- id: texti-k4'],
    );
    expect(exitCode).to.equal(EXIT_CODES.right);
    const lines = printed.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '));
    expect(lines).to.deep.equal([
      'What changes from 2026-10-01 (in force) to 2027-01-01:',
      'model | what | before | after | change',
      'vidone-3.0 | usd_per_second 720p | 0.1 | 0.12 | +20 %',
      'vidone-3.0-prime | usd_per_second 720p | 0.1 | 0.12 | +20 %',
      'textc-M3 | input | 0.21 | 0.2 | -4.76 %',
      'textc-M3 | cache_write_1h | 0.42 | 0.4 | -4.76 %',
      'textc-M3 | factor over 512000 tokens | 2 | - | -',
      'textc-M3 | factor over 500000 tokens | - | 2 | -',
      'texth-3.1-pro-preview | max_output_tokens | 65536 | 60000 | -',
      'texti-k4 | model | - | text: input 2.1, output 10.5, cached_input 0.21, cache_write 2.1, cache_write_1h 4.2 | -',
      'texti-k3 | model | text: input 2.1, output 10.5, cached_input 0.21, cache_write 2.1, cache_write_1h 4.2 | - | -',
    ]);
  });

  it('refuses changed media and text prices under a version that is already on sale', async () => {
    await recordPrices(app);
    const { printed, exitCode } = await diff(DEARER_VIDEO, CHEAPER_TEXT);
    expect(exitCode).to.equal(EXIT_CODES.wrong);
    const [, refused] = printed.split('Refused: the version 2026-10-01 has other prices or costs already.');
    expect(refused).to.contain('vidone-3.0 ').and.contain('textc-M3 ').and.not.contain('vidtwo');
    expect(await diff(NEW_VERSION, DEARER_VIDEO)).to.include({ exitCode: EXIT_CODES.right });
  });

  it('shows costs beside prices, and refuses to change the cost of text under a version that has a cost', async () => {
    // contract 4.11:43
    const cost = "cost: { input: '0.1', output: '0.4', cached_input: '0.01', cache_write: '0.1' }";
    const costs = [
      [
        'route: { provider: simulator, model: vidone-3.0 }',
        "route: { provider: simulator, model: vidone-3.0, cost: { usd_per_second: '0.05' } }",
      ],
      [
        'routes: [{ provider: simulator, format: chat-completions }]',
        `routes: [{ provider: simulator, format: chat-completions, ${cost} }]`,
      ],
    ] as const;
    const { printed, exitCode } = await diff(...costs);
    expect(exitCode).to.equal(EXIT_CODES.right);
    const lines = printed.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '));
    expect(lines).to.include('vidone-3.0 | cost at simulator vidone-3.0: usd_per_second | - | 0.05 | -');
    expect(lines).to.include('textc-M3 | cost at simulator textc-M3: output | - | 0.4 | -');
    const rates = completeRates({
      input: 100_000n,
      output: 300_000n,
      cachedInput: 10_000n,
      cacheWrite: 100_000n,
      cacheWrite1h: 200_000n,
    });
    const recorded = { model: 'textc-M3', upstream: 'simulator', upstreamModel: 'textc-M3' };
    await recordTextCosts(app.database, [
      { ...recorded, version: '2026-10-01', pricing: { rates, tiers: [], peaks: [] } },
    ]);
    const refused = await diff(...costs);
    expect(refused.exitCode).to.equal(EXIT_CODES.wrong);
    expect(refused.printed).to.match(
      /Refused.*\n.*\ntextc-M3 +cost at simulator textc-M3: output +0\.3 +0\.4 +\+33\.33 %$/,
    );
    expect(await diff(NEW_VERSION, ...costs)).to.include({ exitCode: EXIT_CODES.right });
  });

  it('shows the errors of a file first', async () => {
    const refused = diff(CHEAPER_TEXT, ["input: '0.20'", 'input: 0.20']);
    expect(await refused.catch(String)).to.match(/The files have mistakes:\n.*prices\.input" must be quoted/);
  });
});

/** Records the prices, as processes do at start. */
async function recordPrices({ database }: TestApp): Promise<void> {
  const catalogue = loadCatalogue();
  const text = [...catalogue.textModels.values()].map(({ id, family, pricing }) => {
    return { version: catalogue.version, model: id, kind: 'text' as const, family, pricing };
  });
  await recordRateCards(database, [...mediaRateCardsOf(catalogue), ...text]);
}

describe('a place in a file', () => {
  const YAML = `base: &base
  size: { width: 1 }
list:
  - <<: *base
    name: x
  - *base
`;
  const file = parseOperatorFile(YAML, 'test.yaml', () => undefined);
  for (const [what, path, at, place] of [
    ['a value', ['base', 'size', 'width'], 'value', '2:18'],
    ['the name of a field', ['base', 'size', 'width'], 'name', '2:11'],
    ['a value of a map that is merged in', ['list', 0, 'size', 'width'], 'value', '2:18'],
    ['a value of an alias', ['list', 1, 'size', 'width'], 'value', '2:18'],
    ['an item of a list', ['list', 1], 'value', '6:5'],
    ['a missing field, at the object that lacks it', ['list', 0, 'colour'], 'value', '4:5'],
  ] as const) {
    it(`the check finds the line and column of ${what}`, () => {
      const { line, column } = file.finding(path, 'x', { at });
      expect(`${line}:${column}`).to.equal(place);
    });
  }
});

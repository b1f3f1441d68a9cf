/** A process that could not serve does not start, and explains in sentences what to correct. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { findFreePort } from '../../bin/stack/ports.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { loadFiles } from '../../bin/parts/operator-files.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { childEnvironment, loadFilesConfig } from '../../config.ts';
import { recordSecrets } from '../../db/queries/secrets.ts';
import { createEncryption } from '../../db/encryption.ts';
import { recordRateCards } from '../../db/queries/rate-cards.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { useTestDatabase } from '../support/database.ts';
import { runProgram } from '../support/program.ts';
import { call, startTestStack } from '../support/stack.ts';
import { useTestFolder } from '../support/started.ts';

const SIMULATOR = {
  media: [{ name: 'simulator', protocol: 'http-jobs', base_url: 'http://127.0.0.1:9', api_key: 'simulator' }],
  text: [{ name: 'simulator', base_url: 'http://127.0.0.1:9', api_key: 'simulator' }],
};

describe('a process', () => {
  const folder = useTestFolder();
  const testDatabase = useTestDatabase();
  let settings: Readonly<Record<string, string>>;

  before(async () => {
    settings = {
      DATABASE_URL: testDatabase.url,
      GENWAY_API_PORT: String(await findFreePort()),
      GENWAY_TEXT_PORT: String(await findFreePort()),
      GENWAY_ADMIN_TOKEN: '0123456789abcdef',
      GENWAY_KEY_PEPPER: 'a'.repeat(32),
      GENWAY_ENCRYPTION_KEY: 'b'.repeat(64),
      GENWAY_HOME: folder,
      GENWAY_LOG_LEVEL: 'silent',
    };
  });

  /** @returns the output of a process that ends by itself */
  async function refusal(program: string, env: Readonly<Record<string, string>>): Promise<string> {
    const { code, stderr } = await runProgram(program, [], childEnvironment({ ...settings, ...env }));
    return code === 1 ? stderr : `it ended with ${code}: ${stderr}`;
  }

  /** @returns the refusal of the files with which a process would start */
  function refusalOfFiles(env: Readonly<Record<string, string>>): string {
    try {
      loadFiles(loadFilesConfig(env), { warn: () => {} });
    } catch (error) {
      return error instanceof OperatorError ? error.message : expect.fail(String(error));
    }
    return expect.fail('the files were not refused');
  }

  async function file(name: string, document: unknown): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, typeof document === 'string' ? document : JSON.stringify(document));
    return path;
  }

  async function catalogueWith(change: (text: string) => string): Promise<string> {
    return file('catalogue.yaml', change(await readFile('catalogue/catalogue.yaml', 'utf8')));
  }

  it('does not start without the keys of its upstreams', async () => {
    const [upstream] = SIMULATOR.text;
    const path = await file('no-key.yaml', { ...SIMULATOR, text: [{ ...upstream, api_key: '${VENDOR_KEY}' }] });
    expect(refusalOfFiles({ GENWAY_PROVIDERS: path })).to.match(
      /^The configuration files are wrong:\n {2}\S+no-key\.yaml:1:\d+: "text\[0\]\.api_key" needs the environment variable VENDOR_KEY, which is not set$/,
    );
  });

  it('does not start with an invalid file of upstreams, and names every wrong field', async () => {
    const path = await file('wrong.yaml', { media: [{ name: 'studio' }], text: [{ name: 'x', api_key: 'y' }] });
    expect(await refusal('worker', { GENWAY_PROVIDERS: path })).to.match(
      /wrong\.yaml:1:\d+: "media\[0\]\.protocol" is required: it may be http-jobs, .*\n(.*\n)*.*wrong\.yaml:1:\d+: "text\[0\]" is wrong: it needs a base_url, base_urls or a platform\n$/,
    );
  });

  it('does not show the keys of an unreadable file', async () => {
    const path = await file('broken.yaml', 'text:\n  - name: x\n     api_key: sk-secret\n');
    const said = refusalOfFiles({ GENWAY_PROVIDERS: path });
    expect(said)
      .to.match(/broken\.yaml:\d+:\d+: this is not valid YAML: /)
      .and.not.include('sk-secret');
  });

  it('does not start with routes to upstreams that are missing or cannot serve them', async () => {
    const providers = await file('others.yaml', {
      media: [
        ...SIMULATOR.media,
        { name: 'studio', protocol: 'openai-videos', base_url: 'http://127.0.0.1:9', api_key: 'key' },
      ],
      text: [{ name: 'simulator', base_urls: { messages: 'http://127.0.0.1:9' }, api_key: 'key' }],
    });
    const catalogue = await catalogueWith((text) =>
      text
        .replace('route: { provider: simulator, model: vidone-3.0 }', 'route: { provider: nobody, model: vidone-3.0 }')
        .replace('route: { provider: simulator, model: imageb-2 }', 'route: { provider: studio, model: imageb-2 }'),
    );
    const said = refusalOfFiles({ GENWAY_PROVIDERS: providers, GENWAY_CATALOGUE: catalogue });
    const lines = said.split('\n');
    expect(lines[0], said).to.equal('The configuration files are wrong:');
    const sentences = lines.map((line) => line.replace(/^ {2}\S+:\d+:\d+: /, ''));
    expect(sentences).to.include.members([
      '"media.videos[0].route.provider" must be a media upstream, not "nobody": it may be simulator, studio',
      '"media.images[1].route.provider" must be an upstream that renders images (simulator), not "studio"',
    ]);
    expect(said).to.match(
      /"text\.families\[0\]\.routes\[0\]\.format" must be one that the upstream "simulator" has an address for \(messages\)/,
    );
  });

  it('does not start with different prices under the same version of the catalogue', async () => {
    const { version, textModels } = loadCatalogue();
    const [model] = [...textModels.values()].filter(({ free }) => !free);
    if (!model) throw new Error('some model has a price');
    const { family, pricing } = model;
    const dearer = { ...pricing, rates: { ...pricing.rates, input: pricing.rates.input + 1n } };
    await recordRateCards(testDatabase.database, [{ version, model: model.id, kind: 'text', family, pricing: dearer }]);
    expect(await refusal('api', {})).to.equal(
      `catalogue ${version} was already used with different prices for ${model.id}: give it a new version\n`,
    );
  });

  it('does not start with an encryption key or pepper that its database does not have', async () => {
    const { database } = testDatabase;
    const encryption = createEncryption(Buffer.alloc(32, 1));
    await recordSecrets(database, { encryption, keyPeppers: [Buffer.from(settings['GENWAY_KEY_PEPPER'] ?? '')] });
    expect(await refusal('text', {})).to.match(/^GENWAY_ENCRYPTION_KEY does not decrypt the secrets in this database/);
    const right = { GENWAY_ENCRYPTION_KEY: '01'.repeat(32) };
    expect(await refusal('api', { ...right, GENWAY_KEY_PEPPER: 'c'.repeat(32) })).to.match(/^GENWAY_KEY_PEPPER is not/);
    await database('secret_marks').delete();
  });

  it('becomes ready once it has recorded its prices, even without a text request', async () => {
    const stack = await startTestStack();
    try {
      await stack.text.start();
      await waitUntil(async () => expect((await call(`${stack.textBaseUrl}/readyz`)).status).to.equal(200), {
        timeoutMs: PATIENCE_MS,
      });
      const { textModels, videoModels, imageModels } = loadCatalogue();
      const models = textModels.size + videoModels.size + imageModels.size;
      expect(await stack.database('rate_cards')).to.have.length(models);
    } finally {
      await stack.stop();
    }
  });
});

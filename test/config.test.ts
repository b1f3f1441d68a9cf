import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { loadCatalogue } from '../catalogue/load.ts';
import {
  childEnvironment,
  type Environment,
  loadConfig,
  loadDatabaseConfig,
  loadSimulatorConfig,
  loadStackConfig,
} from '../config.ts';
import { READ_ON_MS } from '../bin/parts/text.ts';
import { CONFIGURATION_DOCS, renderConfigurationDocs } from '../bin/tools/configuration-docs.ts';
import { REQUIRED_VARIABLES as REQUIRED } from './support/configuration.ts';

const SECRETS = Object.keys(REQUIRED);

describe('configuration', () => {
  it('lets `npm start` use existing servers, and by default its own', () => {
    const address = { DATABASE_URL: 'postgres://me@db/genway', TEMPORAL_ADDRESS: 'temporal:7233' };
    expect(loadStackConfig({})).to.include({ databaseUrl: undefined, temporal: undefined });
    const { databaseUrl, temporal } = loadStackConfig(address);
    expect([databaseUrl, temporal?.address]).to.deep.equal([address.DATABASE_URL, address.TEMPORAL_ADDRESS]);
  });

  it('needs the database and the secrets, and has a default for everything else', () => {
    const config = loadConfig(REQUIRED);
    expect(config.api).to.deep.equal({ port: 8080, publicUrl: 'http://127.0.0.1:8080' });
    expect(config.text).to.deep.equal({ port: 8081, processes: 1, cutoffMs: 100_000 });
    expect(config.drainMs).to.equal(5_000);
    expect(config.shutdownGraceMs, 'streams have two minutes').to.equal(120_000);
    expect(config.renderGraceMs, 'renders have five minutes').to.equal(300_000);
    expect(loadStackConfig({}).shutdownGraceMs, 'of `npm start`').to.equal(10_000);
    expect(config.tasks).to.deep.equal({
      pollIntervalMs: null,
      deadlineMs: 1_800_000,
      providerPatienceMs: 120_000,
    });
    expect(config.edge).to.deep.equal({ trustedProxies: 0, allowPrivateAddresses: false, rejectedUserAgents: [] });
    expect(config.webhooks.scheduleMs).to.have.length(10);
    expect(config.webhooks.scheduleMs.at(-1)).to.equal(86_400_000);
    expect(config.moderation).to.equal(undefined);
    expect(config.temporal.tls).to.equal(undefined);
    expect(config.storage.kind).to.equal('local');
  });

  it('reads longer for disconnected clients than the slowest answer of the catalogue takes', () => {
    const slowTokensPerSecond = 20;
    const longest = Math.max(...[...loadCatalogue().textModels.values()].map((model) => model.outputTokenLimit));
    expect(READ_ON_MS).to.be.at.least((longest / slowTokensPerSecond) * 1000);
  });

  it('reads secrets as lists whose first is the current one, and encryption keys as 32 bytes', () => {
    const { secrets } = loadConfig({
      ...REQUIRED,
      GENWAY_ADMIN_TOKEN: `${'b'.repeat(16)}, ${'a'.repeat(16)}`,
      GENWAY_ENCRYPTION_KEY: `${'cd'.repeat(32)},${'ab'.repeat(32)}`,
    });
    expect(secrets.adminTokens).to.deep.equal(['b'.repeat(16), 'a'.repeat(16)]);
    expect(secrets.encryptionKeys).to.deep.equal([Buffer.alloc(32, 0xcd), Buffer.alloc(32, 0xab)]);
    expect(() => loadConfig({ ...REQUIRED, GENWAY_KEY_PEPPER: `${REQUIRED.GENWAY_KEY_PEPPER},` })).to.throw(
      'GENWAY_KEY_PEPPER must be at least 32 characters',
    );
  });

  it('names every missing variable at once, and how to set it', () => {
    for (const name of SECRETS) expect(() => loadConfig({})).to.throw(`${name} is not set: set it to `);
  });

  for (const name of SECRETS) {
    it(`refuses an empty ${name}`, () => {
      expect(() => loadConfig({ ...REQUIRED, [name]: '' })).to.throw(new RegExp(`${name} is (empty|not set)`));
    });
  }

  it('refuses secrets that are too short, without printing them', () => {
    expect(() => loadConfig({ ...REQUIRED, GENWAY_KEY_PEPPER: 'swordfish' }))
      .to.throw('GENWAY_KEY_PEPPER must be at least 32 characters')
      .with.property('message')
      .that.does.not.include('swordfish');
  });

  it('treats an empty variable as unset', () => {
    const valuesOf = (env: Environment) => ({ ...loadConfig(env), readVariable: null });
    expect(valuesOf({ ...REQUIRED, GENWAY_API_PORT: '', GENWAY_PROVIDERS: '' })).to.deep.equal(valuesOf(REQUIRED));
  });

  const refused: readonly [string, string][] = [
    ['GENWAY_API_PORT', '0'],
    ['GENWAY_API_PORT', '65536'],
    ['GENWAY_API_PORT', '80.5'],
    ['GENWAY_API_PORT', '0x50'],
    ['GENWAY_API_PORT', ' 80'],
    ['GENWAY_API_PORT', '8e3'],
    ['GENWAY_TASK_DEADLINE_S', '0'],
    ['GENWAY_TASK_DEADLINE_S', '-1'],
    ['GENWAY_TASK_DEADLINE_S', 'Infinity'],
    ['GENWAY_ALLOW_PRIVATE_ADDRESSES', 'yes'],
    ['GENWAY_ALLOW_PRIVATE_ADDRESSES', '1'],
    ['GENWAY_WEBHOOK_SCHEDULE_S', '0,5,'],
    ['GENWAY_WEBHOOK_SCHEDULE_S', '0;5'],
    ['GENWAY_WEBHOOK_SCHEDULE_S', '-1'],
    ['GENWAY_PUBLIC_URL', 'example.com'],
    ['GENWAY_PUBLIC_URL', 'https://example.com/'],
    ['GENWAY_TOP_UP_URL', 'https://pay.example/'],
    ['GENWAY_TOP_UP_URL', 'http://pay.example/{account_id}'],
    ['GENWAY_TOP_UP_URL', 'https://{account_id}.example/'],
    ['GENWAY_TOP_UP_URL', 'https://pay.example/#{account_id}'],
    ['GENWAY_TOP_UP_URL', 'javascript:alert("{account_id}")'],
    ['GENWAY_S3_ENDPOINT', 'https://s3.example.com/'],
    ['GENWAY_S3_ENDPOINT', 'https://s3.{bucket}.example.com'],
    ['GENWAY_TAXES', 'never: VAT 19'],
    ['GENWAY_TAXES', 'VAT'],
    ['GENWAY_LOG_LEVEL', 'verbose'],
    ['TEMPORAL_ADDRESS', '127.0.0.1'],
    ['DATABASE_URL', 'mysql://127.0.0.1/genway'],
  ];
  for (const [name, text] of refused) {
    it(`refuses ${name}=${JSON.stringify(text)}, and names the variable`, () => {
      expect(() => loadConfig({ ...REQUIRED, [name]: text })).to.throw(new RegExp(`- ${name} .*must be `));
    });
  }

  for (const text of ['https://pay.example/?client_reference_id={account_id}', 'http://127.0.0.1:1/{account_id}/pay']) {
    it(`accepts GENWAY_TOP_UP_URL=${text}`, () => {
      expect(loadConfig({ ...REQUIRED, GENWAY_TOP_UP_URL: text }).payments.topUpUrl).to.equal(text);
    });
  }

  it('reads every port as a number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 65_535 }), (port) => {
        expect(loadConfig({ ...REQUIRED, GENWAY_TEXT_PORT: String(port) }).text.port).to.equal(port);
      }),
    );
  });

  it('reads seconds and lists of them as milliseconds, fractions included', () => {
    const config = loadConfig({ ...REQUIRED, GENWAY_TEXT_CUTOFF_S: '0.5', GENWAY_WEBHOOK_SCHEDULE_S: '0, 0.25,3' });
    expect(config.text.cutoffMs).to.equal(500);
    expect(config.webhooks.scheduleMs).to.deep.equal([0, 250, 3_000]);
  });

  it('stores in S3 if there is a bucket, which needs its public address', () => {
    const bucket = { GENWAY_S3_BUCKET: 'results', GENWAY_S3_PUBLIC_URL: 'https://files.example.com' };
    expect(() => loadConfig({ ...REQUIRED, GENWAY_S3_BUCKET: 'results' })).to.throw(
      'GENWAY_S3_PUBLIC_URL is not set, but GENWAY_S3_BUCKET requires it',
    );
    const storageAt = (endpoint: string) =>
      loadConfig({ ...REQUIRED, ...bucket, GENWAY_S3_ENDPOINT: endpoint }).storage;
    expect(storageAt('')).to.deep.include({
      kind: 's3',
      bucket: 'results',
      endpoint: undefined,
      forcePathStyle: false,
    });
    expect(storageAt('http://minio:9000')).to.deep.include({ endpoint: 'http://minio:9000', forcePathStyle: true });
    expect(storageAt('https://{bucket}.s3.example.com')).to.deep.include({
      endpoint: 'https://s3.example.com',
      forcePathStyle: false,
    });
  });

  it('reads the seller with its tax number, and the point at which documents state the taxes', () => {
    const sellerOf = (env: Record<string, string>) => loadConfig({ ...REQUIRED, ...env }).payments.seller;
    expect(
      sellerOf({ GENWAY_SELLER: 'Acme | Street 1 | Tax ID: DE1', GENWAY_TAXES: 'used: GST 5, PST 9.975' }),
    ).to.deep.equal({
      name: 'Acme',
      address: ['Street 1'],
      taxId: 'DE1',
      taxes: [
        { name: 'GST', percent: '5' },
        { name: 'PST', percent: '9.975' },
      ],
      taxPoint: 'used',
    });
    expect(sellerOf({ GENWAY_SELLER: 'Acme' })).to.deep.equal({
      name: 'Acme',
      address: [],
      taxId: null,
      taxes: [],
      taxPoint: 'paid',
    });
    expect(sellerOf({ GENWAY_SELLER: 'Acme', GENWAY_TAXES: 'VAT 19' })).to.deep.include({ taxPoint: 'paid' });
  });

  it('uses TLS to Temporal with an API key, on request, and with a folder of certificates', () => {
    const tlsOf = (env: Record<string, string>) => loadConfig({ ...REQUIRED, ...env }).temporal.tls;
    expect(tlsOf({ TEMPORAL_API_KEY: 'key' })).to.deep.equal({ folder: undefined });
    expect(tlsOf({ TEMPORAL_TLS: 'true' })).to.deep.equal({ folder: undefined });
    expect(tlsOf({ TEMPORAL_TLS: '/etc/genway/temporal' })).to.deep.equal({ folder: '/etc/genway/temporal' });
  });

  it('requires of a process only the variables that it uses', () => {
    expect(loadDatabaseConfig({ DATABASE_URL: REQUIRED.DATABASE_URL }).poolSize).to.equal(20);
    expect(() => loadDatabaseConfig({})).to.throw('DATABASE_URL is not set');
    expect(loadSimulatorConfig({}).simulator.url).to.equal('http://127.0.0.1:8090');
    expect(loadStackConfig({}).databaseUrl).to.equal(undefined);
  });

  it('lets the local stack run its own server unless the environment names one', () => {
    expect(loadStackConfig({}).temporal).to.equal(undefined);
    expect(loadStackConfig({ GENWAY_SIMULATOR_PORT: '9' }).moderationUrl).to.equal('http://127.0.0.1:9/v1/moderations');
    expect(loadStackConfig({ GENWAY_SIMULATOR_PORT: '9' }).searchUrl).to.equal('http://127.0.0.1:9/search');
    expect(loadStackConfig({ GENWAY_PROVIDERS: 'providers.yaml' }).searchUrl).to.equal(undefined);
    const GENWAY_MODERATION_URL = 'https://moderation.example/v1/moderations';
    expect(loadStackConfig({ GENWAY_MODERATION_URL }).moderationUrl).to.equal(GENWAY_MODERATION_URL);
    expect(loadStackConfig({ TEMPORAL_ADDRESS: 'temporal:7233' }).temporal?.address).to.equal('temporal:7233');
  });

  it('passes the inherited environment to a child, overridden by additions', () => {
    expect(childEnvironment({ GENWAY_HOME: '/new' }, { GENWAY_HOME: '/old', PATH: '/bin' })).to.deep.equal({
      GENWAY_HOME: '/new',
      PATH: '/bin',
    });
  });

  it('docs/configuration.md describes every setting accurately', async () => {
    expect(await readFile(CONFIGURATION_DOCS, 'utf8')).to.equal(await renderConfigurationDocs());
  });
});

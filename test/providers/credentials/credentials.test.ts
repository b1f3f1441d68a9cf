/** Tokens and signatures against token services that check what they receive, and that fail. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Credentials, CredentialsError, type SentRequest } from '../../../providers/credentials/credentials.ts';
import { openCredentials } from '../../../providers/credentials/open.ts';
import { probeUpstreams } from '../../../providers/probe.ts';
import { type Auth, authSchema } from '../../../providers/credentials/settings.ts';
import { type Clouds, startClouds } from '../../support/clouds/clouds.ts';
import { AWS_KEY, AWS_KEY_ID, AZURE_SECRET, AZURE_TENANT, ROLE } from '../../../lab/stack/clouds/token-services.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useStarted, useTestFolder } from '../../support/started.ts';

const REQUEST: SentRequest = {
  method: 'POST',
  url: new URL('https://bedrock-runtime.us-east-1.amazonaws.com/model/a%3A0/invoke'),
  headers: { 'content-type': 'application/json' },
  body: '{"a":1}',
};

type Vendor = 'google' | 'aws' | 'azure';

function authOf(vendor: Vendor, clouds: Clouds): Auth {
  const token_url = `${clouds.url}/tokens/${vendor}`;
  const each = {
    google: { google: { credentials: JSON.stringify(clouds.serviceAccount()), token_url } },
    aws: {
      aws: { access_key_id: AWS_KEY_ID, secret_access_key: AWS_KEY.secret, role_arn: ROLE, token_url },
    },
    azure: { azure: { tenant_id: AZURE_TENANT, client_id: 'one', client_secret: AZURE_SECRET, token_url } },
  };
  return validated(each[vendor]);
}

function validated(auth: object): Auth {
  const { value, error } = authSchema.validate(auth);
  if (error) throw error;
  return value;
}

async function failureOf(credentials: Credentials): Promise<CredentialsError> {
  const error = await rejectionOf(credentials.headersFor(REQUEST));
  if (error instanceof CredentialsError) return error;
  throw error;
}

describe('credentials that expire', () => {
  const clouds = useStarted(startClouds);
  const folder = useTestFolder();
  afterEach(() => Object.assign(clouds.conduct, { mode: 'serve', lifeSeconds: 3_600, skewMs: 0 }));

  for (const vendor of ['google', 'aws', 'azure'] as const) {
    describe(`from ${vendor}`, () => {
      it('need one call to the token service for many requests, and open the vendor’s API', async () => {
        const before = clouds.issued[vendor];
        const credentials = openCredentials(authOf(vendor, clouds), { region: 'us-east-1' });
        const headers = await Promise.all(Array.from({ length: 20 }, () => credentials.headersFor(REQUEST)));
        expect(clouds.issued[vendor] - before).to.equal(1);
        const { authorization = '' } = headers[0] ?? {};
        if (vendor === 'aws') expect(authorization).to.match(/^AWS4-HMAC-SHA256 Credential=ASIA/);
        else expect(clouds.isValid(authorization.replace('Bearer ', ''))).to.equal(true);
      });

      it('give the reason, and no secret, when the key or the role is revoked', async () => {
        clouds.conduct.mode = 'refuse';
        const error = await failureOf(openCredentials(authOf(vendor, clouds), { region: 'us-east-1' }));
        expect(error.isRefused, error.message).to.equal(true);
        expect(error.message).not.to.match(/PRIVATE KEY|a-client-secret|secret-access-key/);
        expect(error.cause).to.equal(undefined);
      });

      it('outlive an outage of the token service, and are renewed after it', async () => {
        let nowMs = Date.now();
        const credentials = openCredentials(authOf(vendor, clouds), { region: 'us-east-1', nowMs: () => nowMs });
        const first = await credentials.headersFor(REQUEST);
        clouds.conduct.mode = 'down';
        nowMs += 58 * 60_000;
        const kept = await credentials.headersFor(REQUEST);
        if (vendor !== 'aws') expect(kept).to.deep.equal(first);
        nowMs += 5 * 60_000;
        expect((await failureOf(credentials)).isRefused).to.equal(false);
        // The token services have the clock of the machine.
        Object.assign(clouds.conduct, { mode: 'serve', lifeSeconds: 36_000 });
        nowMs += 10_000;
        expect(Object.keys(await credentials.headersFor(REQUEST))).to.include('authorization');
      });
    });
  }

  it('do not wait forever for a token service that hangs', async () => {
    clouds.conduct.mode = 'hang';
    const waiting = (['google', 'aws', 'azure'] as const).map((vendor) =>
      failureOf(openCredentials(authOf(vendor, clouds), { region: 'us-east-1', timeoutMs: 200 })),
    );
    for (const error of await Promise.all(waiting)) expect(error.isRefused, error.message).to.equal(false);
  });

  it('of google follow a rotated key in the file', async () => {
    const file = join(folder, 'google.json');
    await writeFile(file, JSON.stringify(clouds.serviceAccount()));
    let nowMs = Date.now();
    const token_url = `${clouds.url}/tokens/google`;
    const auth = validated({ google: { credentials_file: file, token_url } });
    const credentials = openCredentials(auth, { nowMs: () => nowMs });
    await credentials.headersFor(REQUEST);
    await clouds.rotateKey();
    await writeFile(file, JSON.stringify(clouds.serviceAccount()));
    nowMs += 60 * 60_000;
    await credentials.headersFor(REQUEST);
    await rm(file);
    nowMs += 60 * 60_000;
    expect((await failureOf(credentials)).message).to.include('ENOENT');
  });

  for (const [vendor, name, address, verdict] of [
    // Vertex and Bedrock have no list of models at these addresses.
    ['google', 'vertex', '/v1/projects/my-project/locations/global', 'unclear'],
    ['aws', 'bedrock', '', 'unclear'],
    ['azure', 'azure', '', 'accepted'],
  ] as const) {
    it(`open the token service for a probe of ${name}, which reports whether the service accepts them`, async () => {
      const settings = { name, apiKeys: ['auth'], auth: authOf(vendor, clouds) } as const;
      const platform = { name, region: 'us-east-1', apiVersion: null };
      const baseUrls = { 'chat-completions': `${clouds.url}${address}` };
      const probe = () =>
        probeUpstreams(
          { media: [], text: [{ ...settings, platform, baseUrls }] },
          { formatsOf: () => ['chat-completions'], modelsOf: () => [], timeoutMs: 5_000 },
        );
      const count = clouds.issued[vendor];
      expect((await probe()).map((one) => [one.verdict, one.key])).to.deep.equal([[verdict, null]]);
      expect(clouds.issued[vendor]).to.equal(count + 1);
      clouds.conduct.mode = 'refuse';
      expect((await probe()).map((one) => one.verdict)).to.deep.equal(['refused']);
    });
  }

  for (const [name, auth, message] of [
    [
      'google without a private key',
      { google: { credentials: '{"type":"service_account","client_email":"a"}' } },
      'need "private_key"',
    ],
    ['google with text that is not JSON', { google: { credentials: 'hunter2' } }, 'must be JSON'],
    ['a role that is no ARN', { aws: { role_arn: 'genway' } }, 'the ARN of a role'],
    ['half a pair of keys', { aws: { access_key_id: 'a' } }, 'without its required peers'],
    ['a secret without an application', { azure: { client_secret: 'a' } }, 'tenant_id'],
    ['two vendors', { google: {}, aws: {} }, 'conflict'],
  ] as const) {
    it(`are checked without a request: ${name}`, () => {
      const { error } = authSchema.validate(auth);
      expect(error?.message).to.include(message).and.not.to.include('hunter2');
    });
  }
});

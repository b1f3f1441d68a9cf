import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { type CaptchaVerdict, verifyCaptcha } from '../../providers/captcha.ts';
import { createGuardedClient } from '../../providers/guard/address-guard.ts';
import { startRecordingReceiver } from '../support/receiver.ts';

const CAPTCHA = { provider: 'turnstile', siteKey: 'site-key', secret: 'a secret' } as const;
const ANSWER = { token: 'a token', ip: '192.0.2.7', host: 'acme.example' };

describe('providers/captcha', () => {
  const client = createGuardedClient({ allowPrivateAddresses: true });
  after(() => client.close());

  /** The verdict when the service answers as given, and the body that it received. */
  async function verdictOf(
    answer: (response: ServerResponse) => unknown,
    given: Partial<typeof ANSWER> = {},
    timeoutMs = 5_000,
  ): Promise<{ verdict: CaptchaVerdict; bodies: readonly string[] }> {
    const service = await startRecordingReceiver(answer);
    try {
      const settings = { verifyUrl: service.url, timeoutMs };
      const verdict = await verifyCaptcha(client, CAPTCHA, { ...ANSWER, ...given }, settings);
      return { verdict, bodies: service.requests.map(({ body }) => body) };
    } finally {
      await service.close();
    }
  }

  const json =
    (value: unknown, status = 200) =>
    (response: ServerResponse) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };

  it('passes a token that the service confirms for this host, and sends the secret, the token and the client', async () => {
    const { verdict, bodies } = await verdictOf(json({ success: true, hostname: 'acme.example' }));
    expect(verdict).to.equal('passed');
    expect(Object.fromEntries(new URLSearchParams(bodies[0]))).to.deep.equal({
      secret: 'a secret',
      response: 'a token',
      remoteip: '192.0.2.7',
      sitekey: 'site-key',
    });
  });

  it('fails a token that the service refuses, or confirms for another host', async () => {
    expect((await verdictOf(json({ success: false }))).verdict).to.equal('failed');
    expect((await verdictOf(json({ success: true, hostname: 'other.example' }))).verdict).to.equal('failed');
    expect((await verdictOf(json({ success: true }))).verdict).to.equal('failed');
  });

  it('fails a missing or huge token without a request', async () => {
    for (const token of ['', 'x'.repeat(10_001)])
      expect(await verdictOf(json({ success: true }), { token })).to.deep.equal({ verdict: 'failed', bodies: [] });
  });

  const LIES: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
    'an error with a success in it': json({ success: true, hostname: 'acme.example' }, 500),
    'a success that is a text': json({ success: 'true', hostname: 'acme.example' }),
    'a list': json([true]),
    'no JSON': (response) => response.end('<html>success</html>'),
    'an endless answer': (response) => response.end(`{"success":true,"hostname":"acme.example"}${' '.repeat(20_000)}`),
    'a redirect': (response) => response.writeHead(302, { location: '/passed' }).end(),
    'a closed connection': (response) => response.destroy(),
  };
  for (const [name, answer] of Object.entries(LIES)) {
    it(`gives no verdict for ${name}`, async () => {
      expect((await verdictOf(answer)).verdict).to.equal('unavailable');
    });
  }

  it('gives no verdict when the service hangs', async () => {
    expect((await verdictOf(() => undefined, {}, 50)).verdict).to.equal('unavailable');
  });
});

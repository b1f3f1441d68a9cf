import { expect } from 'chai';
import { OWN_SITE, type Site } from '../../catalogue/site.ts';
import { createGuardedClient, type GuardedClient } from '../../providers/guard/address-guard.ts';
import { PASSWORD, startTestConsole, Visitor } from '../support/console.ts';
import { type RecordingReceiver, startRecordingReceiver } from '../support/receiver.ts';
import { useStarted } from '../support/started.ts';

const SITE: Site = {
  ...OWN_SITE,
  registration: { domains: null, needsApproval: false },
  captcha: { provider: 'turnstile', siteKey: 'the-site-key', secret: 'the secret' },
};

describe('the captcha of the registration', () => {
  let service: RecordingReceiver;
  let answer: unknown = { success: true, hostname: '127.0.0.1' };
  const asked: string[] = [];
  const client = createGuardedClient({ allowPrivateAddresses: true });
  /** Sends the requests for the service of the captcha to the receiver. */
  const guardedClient: GuardedClient = {
    ...client,
    request: (url, options) => {
      asked.push(url);
      return client.request(service.url, options);
    },
  };
  const app = useStarted(() => startTestConsole({ site: () => SITE, settings: { canSendMail: true }, guardedClient }));

  before(async () => {
    service = await startRecordingReceiver((response) => response.end(JSON.stringify(answer)));
  });
  after(() => Promise.all([service.close(), client.close()]));

  async function send(email: string, token = 'a token') {
    const fields = { email, name: 'Ada', password: PASSWORD, repeated: PASSWORD, 'cf-turnstile-response': token };
    const { text } = await new Visitor(app).send('/console/register', fields);
    const rows = await app.database('registrations').where({ email });
    return { text, outcome: rows.map(({ state, reason }) => `${state} ${reason}`).join() };
  }

  it('loads the script of its service on the page of the registration alone', async () => {
    const page = await fetch(`${app.baseUrl}/console/register`);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).to.include("script-src 'self' https://challenges.cloudflare.com;");
    expect(policy).to.include('frame-src https://challenges.cloudflare.com').and.not.include('unsafe');
    const text = await page.text();
    expect(text).to.include('data-sitekey="the-site-key"').and.not.include('the secret');
    const other = await fetch(`${app.baseUrl}/console/sign-in`);
    expect(other.headers.get('content-security-policy')).not.to.include('cloudflare');
  });

  it('accepts a registration with a token that the service confirms', async () => {
    expect((await send('solved@acme.example')).outcome).to.equal('waiting_for_verification null');
    expect(asked.at(-1)).to.equal('https://challenges.cloudflare.com/turnstile/v0/siteverify');
    expect(service.requests.at(-1)?.body).to.include('response=a+token').and.include('secret=the+secret');
  });

  it('refuses a registration without a solved captcha, and records the reason', async () => {
    answer = { success: false };
    const { text, outcome } = await send('bot@acme.example');
    expect(text).to.include('Confirm that you are a person');
    expect(outcome).to.equal('refused captcha_failed');
    expect((await send('empty@acme.example', '')).outcome).to.equal('refused captcha_failed');
  });

  it('refuses a token of another site', async () => {
    answer = { success: true, hostname: 'other.example' };
    expect((await send('borrowed@acme.example')).outcome).to.equal('refused captcha_failed');
  });

  it('refuses a registration while the service gives no valid answer', async () => {
    answer = ['success'];
    const { text, outcome } = await send('unlucky@acme.example');
    expect(text).to.include('Try again in a few minutes');
    expect(outcome).to.equal('refused captcha_unavailable');
  });
});

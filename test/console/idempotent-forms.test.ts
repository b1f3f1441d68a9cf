import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { PAGES } from '../../console/pages.ts';
import {
  addSecondFactor,
  copyableIn,
  invite,
  PASSWORD,
  type Shown,
  UNLIMITED,
  useAccount,
  useTestConsole,
  useVisitor,
  Visitor,
} from '../support/console.ts';
import { codeAt } from '../../services/people/second-factor.ts';
import { newId } from '../../domain/ids.ts';
import { createEndpoint } from '../support/factories.ts';

const CONSOLE = join(import.meta.dirname, '../../console');
const TIMES = 10;

describe('forms of the console', () => {
  let account: string;
  let count = 0;

  const app = useTestConsole({ settings: { allowPrivateAddresses: true } });
  const customer = useAccount(app, { fundedUsd: 25 });
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  before(async () => {
    account = `/console/accounts/${customer.accountId}`;
  });
  beforeEach(() => app.database('sign_in_attempts').delete());

  const newFormId = (): string => newId('form');
  const newEmail = (): string => `person-${++count}@example.com`;

  function sendAtOnce(path: string, fields: Record<string, string>): Promise<Shown[]> {
    const form_id = newFormId();
    return Promise.all(Array.from({ length: TIMES }, () => owner.send(path, { form_id, ...fields })));
  }

  /** The objects that a form creates, where accounts may have several. */
  const CREATING: readonly { what: string; table: string; path: () => string; fields: Record<string, string> }[] = [
    {
      what: 'a task',
      table: 'tasks',
      path: () => `${account}/playground`,
      fields: { model: 'vidone-3.0', prompt: 'A red kite over the sea', duration: '5' },
    },
    { what: 'a key', table: 'api_keys', path: () => `${account}/keys`, fields: { name: 'sent at once', ...UNLIMITED } },
    {
      what: 'a webhook endpoint',
      table: 'webhook_endpoints',
      path: () => `${account}/webhooks`,
      fields: { url: 'http://127.0.0.1:9/hooks', events: 'task.failed' },
    },
    {
      what: 'an invitation',
      table: 'account_invitations',
      path: () => `${account}/members`,
      fields: { email: 'invited@example.com', role: 'developer' },
    },
  ];
  for (const { what, table, path, fields } of CREATING) {
    it(`create ${what} once when they are sent ten times at once, and show the same outcome each time`, async () => {
      await owner.send(`${account}/playground`, {
        model: 'vidone-3.0',
        prompt: 'So that there is a key',
        duration: '5',
      });
      const rows = () => app.database(table).where({ account_id: customer.accountId });
      const before = (await rows()).length;
      const shown = await sendAtOnce(path(), fields);
      expect(await rows()).to.have.length(before + 1);
      const outcomes = new Set(
        shown.map(({ status, headers, text }) =>
          [status, headers['location'], text.replaceAll(/name="form_id" value="[^"]*"/g, '')].join(),
        ),
      );
      expect(outcomes.size, [...outcomes].join('\n').slice(0, 2_000)).to.equal(1);
      expect(shown[0]?.status).to.be.oneOf([200, 303]);
    });
  }

  it('replace a secret once, and show the new one again to a reload of the page, but not to a reader of the database', async () => {
    const endpoint = await createEndpoint(app.database, { id: customer.accountId });
    const encrypted = async (): Promise<unknown> =>
      (await app.database('webhook_endpoints').where({ id: endpoint.id }).first('encrypted_secret')).encrypted_secret;
    const path = `${account}/webhooks/${endpoint.id}/rotate-secret`;
    const form_id = newFormId();
    const { text } = await owner.send(path, { form_id });
    const afterFirst = await encrypted();
    const secret = /whsec_[\w+/=]+/.exec(text)?.[0] ?? '';
    expect(secret).to.match(/^whsec_.{20,}/);
    expect((await owner.send(path, { form_id })).text).to.include(secret);
    expect((await owner.get(`/console/outcomes/${form_id}`)).text).to.include(secret);
    expect(await encrypted()).to.deep.equal(afterFirst);
    expect(JSON.stringify(await app.database('sent_forms'))).not.to.include(secret);
  });

  it('show the created object to nobody else, and to nobody after a quarter of an hour', async () => {
    const form_id = newFormId();
    const secret = copyableIn(await owner.send(`${account}/keys`, { form_id, name: 'mine', ...UNLIMITED }));
    const path = `/console/outcomes/${form_id}`;
    const other = await Visitor.invited(app, { email: newEmail(), account_id: customer.accountId });
    for (const visitor of [other, new Visitor(app)]) expect((await visitor.get(path)).status).to.equal(404);
    await app
      .database('sent_forms')
      .where({ form_id })
      .update({ sent_at: new Date(Date.now() - 16 * 60_000) });
    const late = await owner.get(path);
    expect(late.status).to.equal(409);
    expect(late.text).to.not.include(secret);
    expect((await owner.send(`${account}/keys`, { form_id, name: 'mine', ...UNLIMITED })).text).not.to.include(secret);
    expect(await app.database('api_keys').where({ name: 'mine' })).to.have.length(1);
  });

  it('are refused with other entries once they took effect, and can be corrected before', async () => {
    const form_id = newFormId();
    const path = `${account}/keys`;
    expect((await owner.send(path, { form_id, usage_limit_usd: 'much' })).status).to.equal(400);
    expect((await owner.send(path, { form_id, name: 'corrected', ...UNLIMITED })).status).to.equal(200);
    const other = await owner.send(path, { form_id, name: 'another', ...UNLIMITED });
    expect(other.status).to.equal(409);
    expect(other.text).to.include('it took effect');
    expect(other.text).to.include(`<a href="/console/outcomes/${form_id}">`);
    expect(other.text).to.include(`<a href="${path}">Open a new form</a>`);
    expect(await app.database('api_keys').where({ name: 'another' })).to.deep.equal([]);
  });

  it('lead to a new form on a page that a browser can open, also from a page that showed a refusal', async () => {
    const { id } = await createEndpoint(app.database, { id: customer.accountId });
    const page = `${account}/webhooks/${id}`;
    const [path, form_id] = [`${page}/rotate-secret`, newFormId()];
    await owner.send(path, { form_id });
    const { text } = await owner.send(path, { form_id, other: 'entry' }, { referer: `${app.baseUrl}${path}` });
    expect(text).to.include(`<a href="${page}">Open a new form</a>`);
  });

  it('show what was created to nobody but their user, when they are sent again with other entries', async () => {
    const form_id = newFormId();
    const path = `${account}/keys`;
    await owner.send(path, { form_id, name: 'of the owner', ...UNLIMITED });
    const other = await Visitor.invited(app, { email: newEmail(), account_id: customer.accountId });
    const { status, text } = await other.send(path, { form_id, name: 'of another', ...UNLIMITED });
    expect([status, text.includes(form_id)]).to.deep.equal([409, false]);
  });

  it('keep their id when their page shows them again after a refusal, since the browser can return to the first page', async () => {
    const form_id = newFormId();
    const { text } = await owner.send(`${account}/keys`, { form_id, usage_limit_usd: 'much' });
    expect(text.split(`name="form_id" value="${form_id}"`)).to.have.length(2);
  });

  it('are not repeated when the outcome of the first is unknown', async () => {
    const form_id = newFormId();
    const path = `${account}/keys`;
    const broken = 'CREATE RULE broken AS ON INSERT TO api_keys DO INSTEAD SELECT 1/0';
    await app.database.raw(broken);
    expect((await owner.send(path, { form_id, name: 'unknown', ...UNLIMITED })).status).to.equal(500);
    await app.database.raw('DROP RULE broken ON api_keys');
    const again = await owner.send(path, { form_id, name: 'unknown', ...UNLIMITED });
    expect(again.status).to.equal(409);
    expect(again.text).to.include('Check whether Genway made the change');
    expect(await app.database('api_keys').where({ name: 'unknown' })).to.deep.equal([]);
  });

  it('sign in a person whose first answer was lost: with a password, a code, an invitation', async () => {
    const email = newEmail();
    const path = await invite(app, { email });
    const fields = { password: PASSWORD, repeated: PASSWORD, form_id: newFormId() };
    await new Visitor(app).send(path, fields);
    const visitor = new Visitor(app);
    expect((await visitor.send(path, fields)).headers['location']).to.equal('/console');
    const { secret, step } = await addSecondFactor(visitor);

    const [first, again] = [new Visitor(app), new Visitor(app)];
    const signIn = { email, password: PASSWORD, form_id: newFormId() };
    for (const one of [first, again]) await one.send('/console/sign-in', signIn);
    const sessions = () => app.database('sessions').where({ second_factor_pending: true });
    expect(await sessions()).to.have.length(1);
    // Both browsers have the page of the session that the first code ends.
    for (const one of [first, again]) await one.get('/console/sign-in');
    const code = { code: codeAt(secret, step + 1), form_id: newFormId() };
    await first.send('/console/sign-in/code', code);
    const location = (await again.send('/console/sign-in/code', code)).headers['location'];
    expect(location).to.equal('/console');
    expect((await again.get('/console/profile')).status).to.equal(200);
  });

  it('sign in nobody with only the id of a form', async () => {
    const email = newEmail();
    await Visitor.invited(app, { email });
    const form_id = newFormId();
    await new Visitor(app).send('/console/sign-in', { email, password: PASSWORD, form_id });
    const thief = new Visitor(app);
    expect((await thief.send('/console/sign-in', { email, password: 'guess', form_id })).status).to.equal(409);
    expect((await thief.get(`/console/outcomes/${form_id}`)).status).to.equal(404);
    expect(thief.cookie).to.equal('');
  });

  it('have an id on each page, and are refused without one, or with one of another day, by every page with an effect', async () => {
    const operator = await Visitor.invited(app, { email: newEmail(), staff_role: 'operator' });
    const refused: string[] = [];
    const acting = PAGES.filter(({ method, isRepeatable }) => method === 'post' && !isRepeatable);
    for (const { path, access } of acting) {
      const visitor = access === 'staff' ? operator : owner;
      const address = `/console${path.replace('{account_id}', customer.accountId).replaceAll(/\{\w+\}/g, 'x')}`;
      for (const form_id of ['', 'short', 'x'.repeat(65), "' OR 1=1 -- and so on"]) {
        const { status } = await visitor.send(address, { form_id }, { 'x-form-id': form_id });
        if (status === 400) continue;
        refused.push(`${status} ${path} with ${form_id}`);
      }
    }
    expect(refused).to.deep.equal([]);
    for (const age of [86_460_000, -120_000]) {
      const form_id = newId('form', Date.now() - age);
      const { status, text } = await owner.send(`${account}/keys`, { form_id, name: 'expired', ...UNLIMITED });
      expect([status, text.includes('This form has expired.')]).to.deep.equal([400, true]);
    }
    expect(await app.database('api_keys').where({ name: 'expired' })).to.deep.equal([]);
    expect(PAGES.filter(({ isRepeatable }) => isRepeatable).map(({ path }) => path)).to.have.members([
      '/search',
      '/sign-out',
      '/accounts/{account_id}/playground/price',
      '/accounts/{account_id}/playground/realtime',
      '/accounts/{account_id}/playground/voice/speech',
      '/accounts/{account_id}/playground/voice/transcript',
    ]);
  });

  it('are drawn by one component, which gives them their id', () => {
    const files = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.tsx'));
    const drawn = files.filter((file) => /<form(?![^>]*method="get")/.test(readFileSync(join(CONSOLE, file), 'utf8')));
    expect(drawn).to.deep.equal(['html/components.tsx']);
    expect(readFileSync(join(CONSOLE, 'html/components.tsx'), 'utf8').match(/<form/g)).to.have.length(1);
  });
});

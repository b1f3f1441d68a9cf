/** Hostile input of a customer, repeated forms and forged addresses: nothing breaks, and nothing moves. */
import { expect } from 'chai';
import type { Page } from '../../console/page.ts';
import { PAGES } from '../../console/pages.ts';
import { isPersonName } from '../../domain/person-name.ts';
import {
  linkIn,
  PASSWORD,
  type Shown,
  UNLIMITED,
  useAccount,
  useTestConsole,
  useVisitor,
  Visitor,
} from '../support/console.ts';
import { runsAll } from '../support/properties.ts';

const LONG_AFTER = 'z'.repeat(32);
const LONG_BEFORE = '0'.repeat(32);

/** The inputs that are sent in every field. */
const HOSTILE = [
  '',
  "' OR 1=1 --",
  '../../../etc/passwd',
  '<script>alert(1)</script>',
  '//evil.example/',
  '😀'.repeat(101),
  `x${'😀'.repeat(101)}`,
  '\u202egnp.exe\u200b\ud83e\udd96',
  '\r\nSet-Cookie: x=1',
  '9'.repeat(400),
  '-1e309',
  '__proto__',
  'toString',
  '9999-99-99',
  '+275760-09-13',
  '=HYPERLINK("http://evil.example")',
  'x'.repeat(100_000),
] as const;

/** The inputs of a page: with `--all` all, else every sixth. Each input reaches a sixth of all pages. */
function shareOf<Input>(page: Page, inputs: readonly Input[]): readonly Input[] {
  const index = PAGES.indexOf(page);
  return runsAll ? inputs : inputs.filter((_, input) => (input + index) % 6 === 0);
}

describe('a hostile customer', () => {
  const app = useTestConsole();
  const account = useAccount(app, { fundedUsd: 10 });
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: account.accountId }));
  const operator = useVisitor(app, () => ({ email: 'op@example.com', staff_role: 'operator' }));
  beforeEach(() => app.database('sign_in_attempts').delete());

  const visitorOf = ({ access }: Page): Visitor => (access === 'staff' ? operator : owner);

  /** Whether the path of a page has an id, apart from that of an account. */
  const namesPartOfAccount = ({ path }: Page): boolean => path.replace('{account_id}', '').includes('{');

  /** Whether the path of a page has an id, apart from that of the own account. */
  const namesObject = (page: Page): boolean =>
    page.access === 'staff' ? page.path.includes('{') : namesPartOfAccount(page);

  /** @param id the value for every other id in the address, after its prefix */
  function addressOf({ path }: Page, id: string, accountId = account.accountId): string {
    const prefixes: Readonly<Record<string, string>> = {
      key_id: 'key_',
      task_id: 'task_',
      file_id: 'file_',
      batch_id: 'batch_',
      user_id: 'usr_',
      webhook_id: 'we_',
      delivery_id: 'del_',
      reconciliation_id: 'rec_',
      correction_id: 'cor_',
      request_id: 'txt_',
    };
    return `/console${path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      name === 'account_id' ? accountId : encodeURIComponent(`${prefixes[name] ?? ''}${id}`),
    )}`;
  }

  /** The names of all fields of all forms, as the pages show them, and of queries. */
  const NAMES = `account_id amount_usd reason reference finding acknowledgement_id email role name
    password repeated current code offer language session model prompt duration resolution url events usage_limit_usd
    rate_limit_rpm expires_on models ip_allowlist cursor search month from to status kind day format seconds aspect_ratio
    all_models billing_address billing_name content_days description end_user external_id factor job limit_period
    low_balance_usd max_concurrent_tasks max_tokens minutes offer path price_list query rules system tax_id text
    unlimited upstream upstreams usd_per_unit valid_from vendor view threshold_usd columns cause key id show shown sort state
    suspended task type version user account`.split(/\s+/);
  const everywhere = (value: string): Record<string, string> =>
    Object.fromEntries(NAMES.map((name) => [name, value.length > 1_000 ? value.slice(0, 2_000) : value]));

  /** Queries of all names: each has another value of the inputs, and over all queries every input. */
  const QUERIES = HOSTILE.map((_, query) =>
    new URLSearchParams(
      // Longer values do not fit into a query.
      Object.fromEntries(
        NAMES.map((name, place) => [name, HOSTILE[(place + query) % HOSTILE.length]?.slice(0, 20) ?? '']),
      ),
    ).toString(),
  );

  /** The addresses of a page that fail. A list is shown for any query, except a file of an unknown format. */
  async function failuresOf(page: Page, addresses: readonly string[]): Promise<string[]> {
    const isList = page.access !== 'everybody' && !namesObject(page) && !/\/(export|playground)$/.test(page.path);
    const failures: string[] = [];
    // One after the other, because concurrent reports of a user are refused.
    for (const address of addresses) {
      const { status } = await visitorOf(page).get(address);
      if (status >= (isList ? 400 : 500)) failures.push(`${status} ${address}`);
    }
    return failures;
  }

  it('makes no page fail by ids of any time, and no list refuse any query', async () => {
    const failed: string[] = [];
    for (const page of PAGES.filter(({ method }) => method === 'get')) {
      const addresses = new Set([LONG_AFTER, LONG_BEFORE, '%', '..', "'"].map((id) => addressOf(page, id)));
      const queries = shareOf(page, QUERIES).map((query) => `${addressOf(page, LONG_AFTER)}?${query}`);
      failed.push(...(await failuresOf(page, [...addresses, ...queries])));
    }
    expect(failed).to.deep.equal([]);
  }).timeout(600_000);

  it('finds no object by an id, a month or a name that does not exist', async () => {
    const entries = { reason: 'why', role: 'finance', name: 'x', end_user: 'x', amount_usd: '1' };
    const found: string[] = [];
    for (const page of PAGES.filter(({ access }) => access !== 'everybody').filter(namesObject)) {
      // A budget that does not exist counts as deleted.
      if (page.path.includes('{budget_id}')) continue;
      for (const id of [LONG_AFTER, 'x', "'"]) {
        const address = addressOf(page, id, page.access === 'staff' ? `acc_${id}` : account.accountId);
        const visitor = visitorOf(page);
        const { status } = await (page.method === 'get' ? visitor.get(address) : visitor.send(address, entries));
        if (status !== 404) found.push(`${status} ${page.method} ${page.path} by ${id}`);
      }
    }
    expect(found).to.deep.equal([]);
  });

  it('makes no list fail by a manipulated cursor', async () => {
    const failed: string[] = [];
    const kinds = ['task_', 'tr_', 'file_', 'del_', 'acc_', 'rec_', 'txt_', 'usr_', 'we_'];
    const cursors = [
      ...kinds.map((kind) => kind + LONG_AFTER),
      'WyJ4Il0',
      btoa('["+275760-09-13T00:00:00.000Z","tr_"]'),
    ];
    // A page of an object that does not exist reads no cursor.
    for (const page of PAGES.filter((page) => page.method === 'get' && !namesPartOfAccount(page))) {
      const addresses = cursors.map((cursor) => `${addressOf(page, LONG_AFTER)}?cursor=${encodeURIComponent(cursor)}`);
      failed.push(...(await failuresOf(page, shareOf(page, addresses))));
    }
    expect(failed).to.deep.equal([]);
  }).timeout(600_000);

  it('makes no form fail, whatever its fields hold', async () => {
    const failed: string[] = [];
    const pages = PAGES.filter(
      ({ method, path, access }) =>
        method === 'post' && access !== 'everybody' && path !== '/profile/sessions/end-others',
    );
    for (const page of pages) {
      for (const value of shareOf(page, HOSTILE)) {
        const { status } = await visitorOf(page).send(addressOf(page, LONG_AFTER), everywhere(value));
        if (status >= 500) failed.push(`${status} ${page.path} with ${value.slice(0, 40)}`);
      }
    }
    expect(failed).to.deep.equal([]);
    expect((await owner.get('/console/profile')).status, 'who sent them is still served').to.equal(200);
  }).timeout(600_000);

  it('gets no answer much longer than the form, and no failure, by fields of 190 kB', async () => {
    const long = 'a '.repeat(19_000);
    const fields = { images: long, models: long, ip_allowlist: long, reason: long, name: long };
    const found: string[] = [];
    for (const page of PAGES.filter(({ method, path }) => method === 'post' && path !== '/sign-out')) {
      const sent = { model: 'vidone-3.0', duration: '5', ...fields };
      const { status, text } = await visitorOf(page).send(addressOf(page, LONG_AFTER), sent);
      if (status >= 500 || text.length > 400_000) found.push(`${status} ${page.path}: ${text.length}`);
    }
    expect(found).to.deep.equal([]);
    const many = `form_id=${'x'.repeat(30)}${'&a'.repeat(100_000)}`;
    const response = await fetch(`${app.baseUrl}/console/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: many,
    });
    expect(response.status).to.equal(400);
  }).timeout(600_000);

  it('is redirected to no other site by signing in, whatever the address asks for', async () => {
    for (const asked of ['next', 'return_to', 'redirect', 'url']) {
      const visitor = new Visitor(app);
      await visitor.get(`/console/sign-in?${asked}=//evil.example/`);
      const { headers } = await visitor.send(`/console/sign-in?${asked}=https://evil.example/`, {
        email: 'owner@example.com',
        password: PASSWORD,
        [asked]: '//evil.example/',
      });
      expect(headers['location'], asked).to.equal('/console');
    }
    const stranger = await new Visitor(app).get('/console//evil.example/%2e%2e');
    expect(stranger.headers['location'] ?? '').not.to.include('evil');
  });

  it('joins an account once by an invitation, however many requests follow it at once', async () => {
    const members = `/console/accounts/${account.accountId}/members`;
    const path = linkIn(await owner.send(members, { email: 'raced@example.com', role: 'developer' }));
    const fields = { name: 'Raced', password: PASSWORD, repeated: PASSWORD };
    const answers = await Promise.all(Array.from({ length: 5 }, () => new Visitor(app).send(path, fields)));
    expect(answers.filter(({ status }) => status === 303)).to.have.length(1);
    expect(answers.every(({ status }) => status < 500)).to.equal(true);
    expect(await app.database('users').where({ email: 'raced@example.com' })).to.have.length(1);
  });

  it('has no access once removed or demoted, with the session and the forms from before', async () => {
    const members = `/console/accounts/${account.accountId}/members`;
    const dev = await Visitor.invited(app, {
      email: 'dev@example.com',
      account_id: account.accountId,
      member_role: 'developer',
    });
    const [{ id }] = await app.database('users').where({ email: 'dev@example.com' });
    const keys = `/console/accounts/${account.accountId}/keys`;
    const makeKey = (): Promise<Shown> => dev.send(keys, { name: 'mine', ...UNLIMITED });
    expect((await makeKey()).status).to.equal(200);
    await owner.edit(`${members}/${id}`, { role: 'finance' }, `${members}/${id}/role`);
    expect((await makeKey()).status).to.equal(403);
    await owner.send(`${members}/${id}/remove`);
    expect((await makeKey()).status).to.equal(404);
    expect(await app.database('api_keys').where({ account_id: account.accountId, name: 'mine' })).to.have.length(1);
  });

  it('has a hostile name that others see as text', async () => {
    const members = `/console/accounts/${account.accountId}/members`;
    const path = linkIn(await owner.send(members, { email: 'named@example.com', role: 'developer' }));
    for (const name of ['\u200b', 'A\nBcc: x', '\u202eadA', 'a\u2066b', 'x'.repeat(101), '\u00a0']) {
      const { status } = await new Visitor(app).send(path, { name, password: PASSWORD, repeated: PASSWORD });
      expect(status, JSON.stringify(name)).to.equal(400);
    }
    for (const name of ['Ada', '李 小龙', 'O’Neil-Müller', 'محمد', '👩‍🚀 Zoë'])
      expect(isPersonName(name), name).to.equal(true);
  });
});

import { expect } from 'chai';
import { PAGES } from '../../console/pages.ts';
import { ADMIN_ROLES, hasMemberPermission, hasStaffPermission, MEMBER_ROLES } from '../../domain/roles.ts';
import { useTestConsole, Visitor } from '../support/console.ts';
import { makeSamples, type Samples } from '../support/samples.ts';

/** The pages, by the roles that may open them or send their forms. `a|b` is two pages. */
const ACCESS = `
  everybody:
    get+post /lost-password|sign-in
    get      /sign-in/callback
    get      /sign-in/with/{provider}
    post     /sign-in/code
    post     /sign-out
    get+post /welcome/{token}
    get+post /join/{invitation_token}
    get+post /register
    post     /register-again
    get+post /address/{address_token}
    get+post /register/{registration_token}
    get      /outcomes/{form_id}
  users:
    get      /
    get      /profile
    post     /profile/address|language|mails|password|recovery-codes|second-factor|provider
    post     /profile/second-factor/remove
    post     /profile/provider/disconnect
    post     /profile/sessions/end|end-others
    post     /views
    post     /views/delete
    get+post /search
  members who may see:
    get      /accounts/{account_id}
    get      /accounts/{account_id}/running|models|tasks|usage|end-users|budgets
    get      /accounts/{account_id}/tasks/tiles|{task_id}
    get      /accounts/{account_id}/tasks/{task_id}/details
    get      /accounts/{account_id}/usage/export|requests
    get      /accounts/{account_id}/usage/requests/export|{text_request_id}
    get      /accounts/{account_id}/end-users/export
  members who may develop:
    get+post /accounts/{account_id}/playground
    get+post /accounts/{account_id}/playground/realtime
    get      /accounts/{account_id}/playground/voice
    post     /accounts/{account_id}/playground/voice/speech|transcript
    get      /accounts/{account_id}/playground/voice/cost/{request_id}
    post     /accounts/{account_id}/playground/price|files
    get      /accounts/{account_id}/playground/cost/{request_id}
    get      /accounts/{account_id}/playground/tasks/{task_id}
    post     /accounts/{account_id}/tasks/{task_id}/claim
    get+post /accounts/{account_id}/keys
    get+post /accounts/{account_id}/keys/{key_id}
    post     /accounts/{account_id}/keys/{key_id}/rotate|enable|disable|delete
    get+post /accounts/{account_id}/webhooks
    get+post /accounts/{account_id}/webhooks/{webhook_id}
    post     /accounts/{account_id}/webhooks/{webhook_id}/enable|disable|test|rotate-secret
    get      /accounts/{account_id}/webhooks/{webhook_id}/deliveries/{delivery_id}
    post     /accounts/{account_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver
    get+post /accounts/{account_id}/webhooks/{webhook_id}/delete
    post     /accounts/{account_id}/end-users
    post     /accounts/{account_id}/end-users/{budget_id}/delete
    get      /accounts/{account_id}/batches|files
    get      /accounts/{account_id}/batches/list
    get      /accounts/{account_id}/batches/{batch_id}/file
    post     /accounts/{account_id}/batches/{batch_id}/cancel
    get+post /accounts/{account_id}/files/{file_id}/delete
  members who may pay:
    get      /accounts/{account_id}/billing
    get      /accounts/{account_id}/billing/top-ups|statements|documents|ledger
    post     /accounts/{account_id}/billing/low-balance|details|codes|checkout|automatic
    get      /accounts/{account_id}/billing/automatic/{checkout_id}
    post     /accounts/{account_id}/billing/automatic/stop
    post     /accounts/{account_id}/billing/plan
    post     /accounts/{account_id}/billing/plan/end
    get      /accounts/{account_id}/billing/checkout/{checkout_id}
    get      /accounts/{account_id}/billing/plan/payments
    get      /accounts/{account_id}/billing/documents/{document_id}
    get      /accounts/{account_id}/billing/statements/{month}
    get      /accounts/{account_id}/billing/statements/{month}/export
    get      /accounts/{account_id}/billing/ledger/export
  members who may own:
    get+post /accounts/{account_id}/close
    get+post /accounts/{account_id}/members
    post     /accounts/{account_id}/members/withdraw
    get      /accounts/{account_id}/members/{user_id}
    post     /accounts/{account_id}/members/{user_id}/role|link|remove
    post     /accounts/{account_id}/budgets
    post     /accounts/{account_id}/budgets/{account_budget_id}/delete
  staff who may read:
    get      /staff/accounts|months|refunds|reconciliations|corrections|gift-codes|plans|tasks|batches|live|failures|models|price-lists|actions
    get      /staff/text-requests|upstreams|webhooks|registrations|registration-blocks
    get      /staff/registrations/{registration_id}
    get      /staff/accounts/{account_id}
    get      /staff/accounts/{account_id}/ledger|usage|end-users|budgets|documents|merge
    get      /staff/accounts/{account_id}/ledger/export
    get      /staff/accounts/{account_id}/end-users/export
    get      /staff/accounts/{account_id}/usage/export
    get      /staff/accounts/{account_id}/documents/{document_id}
    get      /staff/people/{user_id}
    get      /staff/months/{month}
    get      /staff/months/{month}/export|statements
    get      /staff/months/{month}/statements/{account_id}
    get      /staff/months/{month}/statements/{account_id}/export
    get      /staff/months/{month}/bills/{vendor}
    get      /staff/months/{month}/bills/{vendor}/export
    get      /staff/refunds/export
    get      /staff/reconciliations/{reconciliation_id}
    get      /staff/reconciliations/{reconciliation_id}/report|export
    get      /staff/tasks/{task_id}
    get      /staff/tasks/{task_id}/story
    get      /staff/batches/{batch_id}
    get      /staff/batches/{batch_id}/story
    get      /staff/live/state
    get      /staff/models/configuration|{model_id}
    get      /staff/price-lists/{price_list}
    get      /staff/gift-codes/{gift_batch_id}
    get      /staff/text-requests/{text_request_id}
    get      /staff/upstreams/health
    get      /staff/failures/report
    get      /staff/webhooks/{webhook_id}
    get      /staff/webhooks/{webhook_id}/deliveries/{delivery_id}
  staff who may moveMoney:
    post     /staff/accounts/{account_id}/price-list|adjust|merge
    post     /staff/accounts/{account_id}/merge/{merge_id}/approve|reject|withdraw
    post     /staff/months/{month}/bills/{vendor}/forget
    get+post /staff/months/{month}/import-bill|close
    post     /staff/reconciliations|corrections|price-lists|gift-codes
    post     /staff/gift-codes/{gift_batch_id}/approve|withdraw
    post     /staff/reconciliations/{reconciliation_id}/acknowledge|confirm|reject|withdraw
    post     /staff/corrections/{correction_id}/approve|reject|withdraw
    post     /staff/price-lists/{price_list}
  staff who may operate:
    post     /staff/accounts
    post     /staff/accounts/{account_id}/details|members|suspend|reopen|erase|end-users|budgets
    get+post /staff/accounts/{account_id}/keys
    get+post /staff/accounts/{account_id}/keys/{key_id}
    post     /staff/accounts/{account_id}/keys/{key_id}/rotate|enable|disable|delete
    post     /staff/accounts/{account_id}/end-users/{budget_id}/delete
    post     /staff/accounts/{account_id}/budgets/{account_budget_id}/delete
    post     /staff/people/{user_id}
    post     /staff/people/{user_id}/disable|enable|block|second-factor|role|leave|link
    post     /staff/registrations/{registration_id}/approve|reject|block
    post     /staff/registration-blocks
    post     /staff/registration-blocks/{block_id}/lift
    post     /staff/tasks/{task_id}/cancel|redeliver|prompt
    post     /staff/batches/{batch_id}/cancel|pause|resume|retry
    post     /staff/models/configuration
    post     /staff/models/{model_id}/disable|enable
    post     /staff/upstreams/rest|resume
    post     /staff/webhooks/{webhook_id}/redeliver
    post     /staff/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver
`;

/** The visitors in a line of `ACCESS` with a permission. test/docs/roles.test.ts has what each role may do. */
const VISITORS: ReadonlyMap<string, readonly string[]> = new Map([
  ...(['see', 'develop', 'pay', 'own'] as const).map(
    (permission) =>
      [`members who may ${permission}`, MEMBER_ROLES.filter((role) => hasMemberPermission(role, permission))] as const,
  ),
  ...(['read', 'moveMoney', 'operate'] as const).map(
    (permission) =>
      [
        `staff who may ${permission}`,
        ADMIN_ROLES.filter((role) => hasStaffPermission(role, permission)).map((role) => `staff ${role}`),
      ] as const,
  ),
]);

interface Row {
  readonly method: string;
  readonly path: string;
  readonly who: readonly string[];
}

function readAccess(): readonly Row[] {
  let who: readonly string[] = [];
  return ACCESS.trim()
    .split('\n')
    .flatMap((line) => {
      if (line.endsWith(':')) {
        const name = line.trim().slice(0, -1);
        who = VISITORS.get(name) ?? [name];
      }
      const [, methods = '', parent = '', names = ''] = /^ +(get|post|get\+post) +(.*\/)(.*)$/.exec(line) ?? [];
      return methods === ''
        ? []
        : names.split('|').flatMap((name) => {
            const path = parent + name === '/' ? '' : parent + name;
            return methods.split('+').map((method) => ({ method, path, who }));
          });
    });
}

const ROWS = readAccess();
const FORMS = ROWS.filter(({ method }) => method === 'post');
const CLOSED = ROWS.filter(({ who }) => !who.includes('everybody'));

describe('access to the pages of the console', () => {
  const app = useTestConsole();
  let samples: Samples;
  /** The owner of another account. */
  let stranger: Visitor;
  const visitors = new Map<string, Visitor>();

  before(async () => {
    const customer = await app.createAccount({ fundedUsd: 10 });
    samples = await makeSamples(app, customer);
    for (const member_role of MEMBER_ROLES) {
      const person = { email: `${member_role}@example.com`, account_id: customer.accountId, member_role };
      visitors.set(member_role, await Visitor.invited(app, person));
    }
    for (const staff_role of ADMIN_ROLES) {
      const person = { email: `staff-${staff_role}@example.com`, staff_role };
      visitors.set(`staff ${staff_role}`, await Visitor.invited(app, person));
    }
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    stranger = await Visitor.invited(app, { email: 'stranger@example.com', account_id: accountId });
    visitors.set('the owner of another account', stranger);
  });

  const addressOf = (path: string) =>
    `/console${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => samples[name] ?? `no sample of ${name}`)}`;

  /** Opens the page, or sends its form. */
  const visit = (visitor: Visitor, method: string, address: string) =>
    method === 'get' ? visitor.get(`${address}?format=csv`) : visitor.send(address);

  it('access is defined for every page', () => {
    const names = (pages: readonly { readonly method: string; readonly path: string }[]) =>
      pages.map(({ method, path }) => `${method} ${path}`).toSorted();
    expect(names(ROWS)).to.deep.equal(names(PAGES));
  });

  it('is refused without a session, and redirects to the sign-in', async () => {
    for (const { method, path } of CLOSED) {
      const { status, headers } = await visit(new Visitor(app), method, addressOf(path));
      expect([status, headers['location']], `${method} ${path}`).to.deep.equal([303, '/console/sign-in']);
    }
  });

  it("is refused for forms without the session's token, and changes nothing", async () => {
    const before = await rowsOfCustomer();
    for (const { path, who } of FORMS) {
      const [, sender] =
        [...visitors].find(([name]) => ['everybody', 'users', name].some((one) => who.includes(one))) ?? [];
      for (const form_token of ['', 'guess']) {
        const sent = await sender?.send(addressOf(path), { form_token }, { 'x-form-token': form_token });
        expect(sent?.status, path).to.equal(403);
      }
    }
    expect(await rowsOfCustomer()).to.deep.equal(before);
  });

  for (const { method, path, who } of CLOSED.filter((row) => !row.who.includes('users'))) {
    it(`is only for ${who.join(', ')}: ${method} ${path}`, async () => {
      for (const [name, visitor] of visitors) {
        const { status, text } = await visit(visitor, method, addressOf(path));
        const isOfTheHouse = name.startsWith('staff') === path.startsWith('/staff') && visitor !== stranger;
        if (!who.includes(name)) expect(status, name).to.equal(isOfTheHouse ? 403 : 404);
        else expect(status, name).to.be.oneOf(method === 'get' ? [200, 303, 404] : [200, 303, 400, 404, 409]);
        expect(text.length, 'characters of the page').to.be.below(100_000);
      }
    });
  }

  it('is recorded for each form of an operator before the form is carried out', async () => {
    const actionsOf = (role: string) =>
      app
        .database('admin_actions')
        .where({ author: `staff-${role}@example.com` })
        .pluck<string[]>('action');
    const sent = FORMS.filter(({ path }) => path.startsWith('/staff')).map(({ path }) => `console ${path}`);
    expect([...new Set(await actionsOf('operator'))]).to.have.members(sent);
    expect(await actionsOf('readonly')).to.deep.equal([]);
  });

  it('redirects operators without an account from the start page to their pages', async () => {
    const starts = ['staff operator', 'staff finance', 'staff readonly', 'owner'].map(
      async (name) => (await visitors.get(name)?.get('/console'))?.headers['location'],
    );
    expect(await Promise.all(starts)).to.deep.equal([
      '/console/staff/live',
      '/console/staff/months',
      '/console/staff/live',
      `/console/accounts/${samples['account_id']}`,
    ]);
  });

  /** All state of an account that a form can change. */
  async function rowsOfCustomer(): Promise<readonly unknown[]> {
    const { account_id } = samples;
    const tables = ['api_keys', 'webhook_endpoints', 'budgets', 'uploads', 'tasks', 'account_members'];
    const rows = tables.map((table) => app.database(table).where({ account_id }).orderBy('created_at'));
    return Promise.all([...rows, app.database('accounts').where({ id: account_id })]);
  }
});

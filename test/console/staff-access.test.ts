import { expect } from 'chai';
import { PAGES } from '../../console/pages.ts';
import { createPriceList } from '../../db/queries/price-lists.ts';
import { newId } from '../../domain/ids.ts';
import { invite, useTestConsole, type Visitor } from '../support/console.ts';
import { readAccessTable, visitorsOfEveryRole } from '../support/console-access.ts';
import { createEndpoint, createTaskRow, createTextRequestRow } from '../support/factories.ts';

/** How each page of the operators answers each role. Forms are sent empty: who may send them is asked what is missing. */
const ACCESS = `
  page                                                   operator finance readonly customer
  get  /staff/accounts                                   200      200     200      404
  get  /staff/accounts/{account_id}                      200      200     200      404
  post /staff/accounts                                   400      403     403      404
  post /staff/accounts/{account_id}/details              400      403     403      404
  post /staff/accounts/{account_id}/members              400      403     403      404
  get  /staff/people/{user_id}                           200      200     200      404
  post /staff/people/{user_id}                           400      403     403      404
  post /staff/people/{user_id}/enable                    303      403     403      404
  post /staff/people/{user_id}/disable                   303      403     403      404
  post /staff/people/{user_id}/second-factor             303      403     403      404
  post /staff/people/{user_id}/role                      404      403     403      404
  post /staff/people/{user_id}/leave                     303      403     403      404
  post /staff/people/{user_id}/link                      400      403     403      404
  post /staff/accounts/{account_id}/suspend              400      403     403      404
  post /staff/accounts/{account_id}/erase                400      403     403      404
  post /staff/accounts/{account_id}/reopen               400      403     403      404
  post /staff/accounts/{account_id}/adjust               400      400     403      404
  post /staff/accounts/{account_id}/price-list           400      400     403      404
  get  /staff/accounts/{account_id}/ledger               200      200     200      404
  get  /staff/accounts/{account_id}/ledger/export        200      200     200      404
  get  /staff/accounts/{account_id}/documents            200      200     200      404
  get  /staff/accounts/{account_id}/documents/{document_id} 404   404     404      404
  get  /staff/accounts/{account_id}/keys                 200      403     403      404
  post /staff/accounts/{account_id}/keys                 400      403     403      404
  get  /staff/accounts/{account_id}/keys/{key_id}        200      403     403      404
  post /staff/accounts/{account_id}/keys/{key_id}        400      403     403      404
  post /staff/accounts/{account_id}/keys/{key_id}/disable 303     403     403      404
  post /staff/accounts/{account_id}/keys/{key_id}/enable 303      403     403      404
  post /staff/accounts/{account_id}/keys/{key_id}/delete 303      403     403      404
  get  /staff/accounts/{account_id}/end-users            200      200     200      404
  get  /staff/accounts/{account_id}/end-users/export     200      200     200      404
  post /staff/accounts/{account_id}/end-users            400      403     403      404
  post /staff/accounts/{account_id}/end-users/{budget_id}/delete 303 403  403      404
  get  /staff/tasks                                      200      200     200      404
  get  /staff/tasks/{task_id}                            200      200     200      404
  get  /staff/tasks/{task_id}/story                      200      200     200      404
  post /staff/tasks/{task_id}/cancel                     400      403     403      404
  post /staff/tasks/{task_id}/redeliver                  400      403     403      404
  post /staff/tasks/{task_id}/prompt                     400      403     403      404
  get  /staff/text-requests                              200      200     200      404
  get  /staff/text-requests/{text_request_id}            200      200     200      404
  get  /staff/upstreams                                  200      200     200      404
  get  /staff/upstreams/health                           200      200     200      404
  post /staff/upstreams/rest                             400      403     403      404
  post /staff/upstreams/resume                           400      403     403      404
  get  /staff/models                                     200      200     200      404
  get  /staff/models/configuration                       200      200     200      404
  post /staff/models/configuration                       303      403     403      404
  get  /staff/models/{model_id}                          200      200     200      404
  post /staff/models/{model_id}/disable                  400      403     403      404
  post /staff/models/{model_id}/enable                   400      403     403      404
  get  /staff/price-lists                                200      200     200      404
  post /staff/price-lists                                400      400     403      404
  get  /staff/price-lists/{price_list}                   200      200     200      404
  post /staff/price-lists/{price_list}                   400      400     403      404
  get  /staff/webhooks                                   200      200     200      404
  get  /staff/webhooks/{webhook_id}                      200      200     200      404
  post /staff/webhooks/{webhook_id}/redeliver            400      403     403      404
  post /staff/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver 404 403 403 404
  get  /staff/live                                       200      200     200      404
  get  /staff/live/state                                 200      200     200      404
`;

/** Held by a table of their own: staff-finance-access.test.ts. */
const FINANCE_ROOMS = [
  '/staff/months',
  '/staff/refunds',
  '/staff/reconciliations',
  '/staff/corrections',
  '/staff/revenue',
];

describe('access to the pages of operators', () => {
  const rows = readAccessTable(ACCESS);
  const roles = ['operator', 'finance', 'readonly', 'customer'];
  const app = useTestConsole();
  let visitors: readonly Visitor[];
  let samples: Readonly<Record<string, string>>;

  before(async () => {
    const { accountId, keyId } = await app.createAccount({ fundedUsd: 10 });
    const key = { accountId, id: keyId };
    visitors = await visitorsOfEveryRole(app, accountId);
    await invite(app, { email: 'person@example.com', account_id: accountId });
    samples = {
      user_id: (await app.database('users').where({ email: 'person@example.com' }).first('id')).id,
      account_id: accountId,
      key_id: keyId,
      task_id: (await createTaskRow(app.database, key)).id,
      text_request_id: (await createTextRequestRow(app.database, key)).id,
      webhook_id: (await createEndpoint(app.database, { id: accountId })).id,
      delivery_id: newId('delivery'),
      budget_id: newId('endUserBudget'),
      model_id: 'vidone-3.0',
      price_list: 'partners',
    };
    const version = { factor: '1', rules: [], validFrom: undefined, reason: 'a test', author: 'a test' };
    await createPriceList(app.database, samples['price_list'] ?? '', version);
  });

  const addressOf = (path: string) =>
    `/console${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => samples[name] ?? `no sample of ${name}`)}`;

  it('is defined for every page', () => {
    const found = PAGES.filter(
      ({ path }) => path.startsWith('/staff') && !FINANCE_ROOMS.some((room) => path.startsWith(room)),
    );
    const names = (pages: readonly { readonly method: string; readonly path: string }[]) =>
      pages.map(({ method, path }) => `${method} ${path}`).toSorted();
    expect(names(rows)).to.deep.equal(names(found));
  });

  for (const { method, path, statuses } of rows) {
    it(`is held: ${method} ${path}`, async () => {
      for (const [place, visitor] of visitors.entries()) {
        const shown = method === 'get' ? await visitor.get(addressOf(path)) : await visitor.send(addressOf(path));
        expect(shown.status, roles[place]).to.equal(statuses[place]);
        if (method === 'get' && shown.status === 200) expect(shown.text.length).to.be.below(100_000);
      }
    });
  }

  it("is refused for forms without a session's token", async () => {
    for (const { path } of rows.filter(({ method }) => method === 'post')) {
      for (const visitor of visitors) {
        expect((await visitor.send(addressOf(path), { form_token: 'guess' })).status, path).to.equal(403);
      }
    }
  });

  it('is recorded for each form of an operator before the form is carried out', async () => {
    const noted = await app
      .database('admin_actions')
      .where({ author: 'operator@example.com' })
      .pluck<string[]>('action');
    const sent = rows.filter(({ method }) => method === 'post').map(({ path }) => `console ${path}`);
    expect([...new Set(noted)]).to.have.members(sent);
    expect(await app.database('admin_actions').where({ author: 'readonly@example.com' })).to.deep.equal([]);
  });
});

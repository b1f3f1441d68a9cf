import { expect } from 'chai';
import { PAGES } from '../../console/pages.ts';
import { insertReconciliation } from '../../db/queries/reconciliations.ts';
import { newId } from '../../domain/ids.ts';
import { useTestConsole, Visitor } from '../support/console.ts';
import { importSampleBill } from '../support/factories.ts';
import { readAccessTable, visitorsOfEveryRole } from '../support/console-access.ts';

/** What each of finance's pages answers to whom: for customers none is there. */
const ACCESS = `
  page                                                  operator finance readonly customer
  get  /staff/months                                    200      200     200      404
  get  /staff/months/{month}                            200      200     200      404
  get  /staff/months/{month}/export                     200      200     200      404
  get  /staff/months/{month}/statements                 200      200     200      404
  get  /staff/months/{month}/statements/{account_id}    200      200     200      404
  get  /staff/months/{month}/statements/{account_id}/export 200  200     200      404
  get  /staff/months/{month}/bills/{vendor}             200      200     200      404
  get  /staff/months/{month}/bills/{vendor}/export      200      200     200      404
  post /staff/months/{month}/bills/{vendor}/forget      303      404     403      404
  get  /staff/months/{month}/import-bill                200      200     403      404
  post /staff/months/{month}/import-bill                400      400     403      404
  get  /staff/months/{month}/close                      200      200     403      404
  post /staff/months/{month}/close                      409      409     403      404
  get  /staff/refunds                                   200      200     200      404
  get  /staff/refunds/export                            200      200     200      404
  get  /staff/reconciliations                           200      200     200      404
  post /staff/reconciliations                           303      303     403      404
  get  /staff/reconciliations/{reconciliation_id}       200      200     200      404
  get  /staff/reconciliations/{reconciliation_id}/report 200     200     200      404
  get  /staff/reconciliations/{reconciliation_id}/export 200     200     200      404
  post /staff/reconciliations/{reconciliation_id}/acknowledge 400 400     403      404
  post /staff/reconciliations/{reconciliation_id}/confirm 404    404     403      404
  post /staff/reconciliations/{reconciliation_id}/reject 404     404     403      404
  post /staff/reconciliations/{reconciliation_id}/withdraw 404   404     403      404
  get  /staff/corrections                               200      200     200      404
  post /staff/corrections                               400      400     403      404
  post /staff/corrections/{correction_id}/approve       404      404     403      404
  post /staff/corrections/{correction_id}/reject        404      404     403      404
  post /staff/corrections/{correction_id}/withdraw      404      404     403      404
`;

const ROOMS = ['/staff/months', '/staff/refunds', '/staff/reconciliations', '/staff/corrections'];

describe('access to the pages of finance', () => {
  const rows = readAccessTable(ACCESS);
  const app = useTestConsole();
  let visitors: readonly Visitor[];
  let samples: Readonly<Record<string, string>>;

  before(async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    visitors = await visitorsOfEveryRole(app, accountId);
    const reconciliationId = newId('reconciliation');
    await insertReconciliation(app.database, { id: reconciliationId, requestedBy: 'operator' });
    samples = { ...(await importSampleBill(app.database)), account_id: accountId, reconciliation_id: reconciliationId };
  });

  const addressOf = (path: string) =>
    `/console${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => samples[name] ?? newId('task'))}`;

  it('is defined for every page', () => {
    const found = PAGES.filter(({ path }) => ROOMS.some((room) => path.startsWith(room)));
    expect(rows.map(({ method, path }) => `${method} ${path}`)).to.have.members(
      found.map(({ method, path }) => `${method} ${path}`),
    );
  });

  for (const { method, path, statuses } of rows) {
    it(`${method} ${path}: ${statuses.join(' ')}`, async () => {
      const answers: number[] = [];
      for (const visitor of visitors) {
        const address = `${addressOf(path)}?format=csv`;
        const { status } = method === 'get' ? await visitor.get(address) : await visitor.send(addressOf(path));
        answers.push(status);
      }
      expect(answers).to.deep.equal(statuses);
    });
  }

  it("is refused for a form without the session's token", async () => {
    const [operator] = visitors;
    for (const { path } of rows.filter(({ method }) => method === 'post')) {
      for (const form_token of ['', 'guess']) {
        expect((await operator?.send(addressOf(path), { form_token }))?.status, path).to.equal(403);
      }
    }
  });

  it('leads operators without an account from the start to their pages', async () => {
    const starts = await Promise.all(visitors.map((visitor) => visitor.get('/console')));
    expect(starts.map(({ headers }) => headers['location'])).to.deep.equal([
      '/console/staff/live',
      '/console/staff/months',
      '/console/staff/live',
      `/console/accounts/${samples['account_id']}`,
    ]);
  });

  it('is refused without a session', async () => {
    for (const { path } of rows.filter(({ method }) => method === 'get')) {
      const { status, headers } = await new Visitor(app).get(addressOf(path));
      expect([status, headers['location']], path).to.deep.equal([303, '/console/sign-in']);
    }
  });
});

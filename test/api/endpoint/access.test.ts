import { expect } from 'chai';
import { endpointsFor } from '../../../api/endpoints.ts';
import { ADMIN_ROLES, type AdminRole } from '../../../domain/roles.ts';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import { call } from '../../support/stack.ts';

/** What each call of the administration needs at least. A call that is added has to be added here, too. */
const NEEDS: Readonly<Record<string, AdminRole>> = {
  find: 'readonly',
  createAccount: 'operator',
  listAccounts: 'readonly',
  getAccount: 'readonly',
  getContent: 'readonly',
  eraseContent: 'operator',
  updateAccount: 'operator',
  listBillingDocumentsOfAccount: 'readonly',
  getAnyBillingDocument: 'readonly',
  suspendAccount: 'operator',
  reopenAccount: 'operator',
  topUp: 'finance',
  adjust: 'finance',
  grantPromo: 'finance',
  listPromo: 'readonly',
  setPriceList: 'finance',
  listPriceLists: 'readonly',
  createPriceList: 'finance',
  getPriceList: 'readonly',
  changePriceList: 'finance',
  listPriceListVersions: 'readonly',
  createKey: 'operator',
  listKeys: 'readonly',
  getKey: 'readonly',
  updateKey: 'operator',
  deleteKey: 'operator',
  setEndUserBudget: 'operator',
  listEndUserBudgets: 'readonly',
  deleteEndUserBudget: 'operator',
  listAllTasks: 'readonly',
  getAnyTask: 'readonly',
  cancelTask: 'operator',
  redeliverTask: 'operator',
  explainTask: 'readonly',
  createWebhookOfAccount: 'operator',
  listAllWebhooks: 'readonly',
  redeliverAllOfWebhook: 'operator',
  listAllDeliveries: 'readonly',
  redeliverAny: 'operator',
  listUpstreams: 'readonly',
  restUpstream: 'operator',
  resumeUpstream: 'operator',
  getCatalogue: 'readonly',
  sumMargins: 'readonly',
  listRenders: 'readonly',
  getConfiguration: 'readonly',
  listConfigurationRecords: 'readonly',
  applyConfiguration: 'operator',
  listSoldModels: 'readonly',
  createUser: 'operator',
  listUsers: 'readonly',
  getUser: 'readonly',
  updateUser: 'operator',
  deleteUser: 'operator',
  createUserLink: 'operator',
  joinAccount: 'operator',
  leaveAccount: 'operator',
  removeUserIdentity: 'operator',
  endUserSession: 'operator',
  disableModel: 'operator',
  enableModel: 'operator',
  createAdminToken: 'operator',
  listAdminTokens: 'operator',
  revokeAdminToken: 'operator',
  listAdminActions: 'readonly',
  listTransfers: 'readonly',
  listBalanceEntriesOfAccount: 'readonly',
  getStatement: 'readonly',
  sumUsageOfAccount: 'readonly',
  sumUsageOfAccountByEndUser: 'readonly',
  listTextRequestsOfAccount: 'readonly',
  listRefunds: 'readonly',
  exportMonth: 'readonly',
  closeMonth: 'finance',
  listClosedMonths: 'readonly',
  importVendorBill: 'finance',
  listVendorBills: 'readonly',
  getVendorBill: 'readonly',
  forgetVendorBill: 'finance',
  reconcile: 'finance',
  listReconciliations: 'readonly',
  getReconciliation: 'readonly',
  acknowledgeFindings: 'finance',
};

/** Each may do what those after it may. */
const MAY: Readonly<Record<AdminRole, readonly AdminRole[]>> = {
  operator: ['operator', 'finance', 'readonly'],
  finance: ['finance', 'readonly'],
  readonly: ['readonly'],
};

describe('the roles of admin tokens', () => {
  const calls = endpointsFor({ canTakePayments: true }).filter(({ path }) => path.startsWith('/admin/'));
  const tokens = new Map<AdminRole, string>();
  const app = useTestApp();

  before(async () => {
    for (const role of ADMIN_ROLES) {
      const { body } = await call<{ data: { admin_token: string } }>(`${app.baseUrl}/admin/v1/admin-tokens`, {
        key: app.adminToken,
        body: { name: role, role },
      });
      tokens.set(role, body.data.admin_token);
    }
  });

  it('are known for every call of the administration', () => {
    // contract 4.11:1 4.11:2
    expect(calls.map(({ id }) => id)).to.have.members(Object.keys(NEEDS));
  });

  for (const { id, method, path, access } of calls) {
    const needed = NEEDS[id] ?? 'operator';
    for (const role of ADMIN_ROLES) {
      const isLetIn = MAY[role].includes(needed);
      it(`${isLetIn ? 'let' : 'do not let'} ${role} ${id}`, async () => {
        // contract 4.11:2
        const { status, body } = await call<ErrorBody>(app.baseUrl + path.replaceAll(/\{\w+\}/g, 'x'), {
          method: method.toUpperCase(),
          key: tokens.get(role) ?? '',
        });
        const refused = [403, 'forbidden'];
        if (isLetIn) expect([status, body.error?.code]).to.not.deep.equal(refused);
        else expect([status, body.error.code]).to.deep.equal(refused);
        expect(access).to.match(/^admin/);
      });
    }
  }

  it('are named in a refusal, with those that would do', async () => {
    // contract 4.11:2
    const { body } = await call<ErrorBody>(`${app.baseUrl}/admin/v1/reconciliations`, {
      method: 'POST',
      key: tokens.get('readonly') ?? '',
    });
    expect(body.error.message).to.equal(
      'The admin token of readonly has the role readonly; this call needs operator or finance.',
    );
  });

  it('do not open the API of customers or the metrics', async () => {
    // contract 4.11:1
    for (const path of ['/v1/models', '/v1/balance', '/metrics']) {
      expect((await call(app.baseUrl + path, { key: tokens.get('operator') ?? '' })).status).to.equal(401);
    }
  });
});

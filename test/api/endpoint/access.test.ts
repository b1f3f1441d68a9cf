import { expect } from 'chai';
import { endpointsFor } from '../../../api/endpoints.ts';
import { ADMIN_ROLES, type AdminRole, hasStaffPermission, type StaffPermission } from '../../../domain/roles.ts';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import { call } from '../../support/stack.ts';

/**
 * The permission that each call of the administration needs. Add new calls here, too. test/docs/roles.test.ts compares
 * what each role may do with the documents.
 */
const NEEDS: Readonly<Record<string, StaffPermission>> = {
  find: 'read',
  createAccount: 'operate',
  listAccounts: 'read',
  getAccount: 'read',
  getContent: 'read',
  eraseContent: 'operate',
  updateAccount: 'operate',
  listBillingDocumentsOfAccount: 'read',
  getAnyBillingDocument: 'read',
  suspendAccount: 'operate',
  reopenAccount: 'operate',
  mergeAccount: 'moveMoney',
  listAccountMerges: 'read',
  topUp: 'moveMoney',
  adjust: 'moveMoney',
  grantPromo: 'moveMoney',
  listPromo: 'read',
  issueGifts: 'moveMoney',
  listGiftBatches: 'read',
  getGiftBatch: 'read',
  listRedeemedGifts: 'read',
  withdrawGifts: 'moveMoney',
  listRegistrations: 'read',
  approveRegistration: 'operate',
  rejectRegistration: 'operate',
  blockRegistrations: 'operate',
  listRegistrationBlocks: 'read',
  liftRegistrationBlock: 'operate',
  setPriceList: 'moveMoney',
  listPriceLists: 'read',
  createPriceList: 'moveMoney',
  getPriceList: 'read',
  changePriceList: 'moveMoney',
  listPriceListVersions: 'read',
  createKey: 'operate',
  listKeys: 'read',
  getKey: 'read',
  updateKey: 'operate',
  rotateKey: 'operate',
  deleteKey: 'operate',
  listPlanSubscribers: 'read',
  getAccountPlan: 'read',
  setAccountBudget: 'operate',
  listAccountBudgets: 'read',
  deleteAccountBudget: 'operate',
  setEndUserBudget: 'operate',
  listEndUserBudgets: 'read',
  deleteEndUserBudget: 'operate',
  listAllBatches: 'read',
  getAnyBatch: 'read',
  cancelAnyBatch: 'operate',
  pauseBatch: 'operate',
  resumeBatch: 'operate',
  retryBatch: 'operate',
  explainBatch: 'read',
  listAllTasks: 'read',
  getAnyTask: 'read',
  cancelTask: 'operate',
  redeliverTask: 'operate',
  explainTask: 'read',
  createWebhookOfAccount: 'operate',
  listAllWebhooks: 'read',
  redeliverAllOfWebhook: 'operate',
  listAllDeliveries: 'read',
  redeliverAny: 'operate',
  listUpstreams: 'read',
  restUpstream: 'operate',
  resumeUpstream: 'operate',
  getCatalogue: 'read',
  sumMargins: 'read',
  listRenders: 'read',
  getConfiguration: 'read',
  listConfigurationRecords: 'read',
  applyConfiguration: 'operate',
  listSoldModels: 'read',
  createUser: 'operate',
  listUsers: 'read',
  getUser: 'read',
  updateUser: 'operate',
  deleteUser: 'operate',
  createUserLink: 'operate',
  joinAccount: 'operate',
  leaveAccount: 'operate',
  removeUserIdentity: 'operate',
  endUserSession: 'operate',
  disableModel: 'operate',
  enableModel: 'operate',
  createAdminToken: 'operate',
  listAdminTokens: 'operate',
  revokeAdminToken: 'operate',
  listAdminActions: 'read',
  listTransfers: 'read',
  listBalanceEntriesOfAccount: 'read',
  getStatement: 'read',
  sumUsageOfAccount: 'read',
  sumUsageOfAccountByEndUser: 'read',
  listTextRequestsOfAccount: 'read',
  listRefunds: 'read',
  exportMonth: 'read',
  closeMonth: 'moveMoney',
  listClosedMonths: 'read',
  importVendorBill: 'moveMoney',
  listVendorBills: 'read',
  getVendorBill: 'read',
  forgetVendorBill: 'moveMoney',
  reconcile: 'moveMoney',
  listReconciliations: 'read',
  getReconciliation: 'read',
  acknowledgeFindings: 'moveMoney',
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
    const needed = NEEDS[id] ?? 'operate';
    for (const role of ADMIN_ROLES) {
      const isLetIn = hasStaffPermission(role, needed);
      it(`${isLetIn ? 'let' : 'do not let'} ${role} call ${id}`, async () => {
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

  it('are named in a refusal, with the roles that would suffice', async () => {
    // contract 4.11:2
    const { body } = await call<ErrorBody>(`${app.baseUrl}/admin/v1/reconciliations`, {
      method: 'POST',
      key: tokens.get('readonly') ?? '',
    });
    expect(body.error.message).to.equal(
      'The admin token of readonly has the role readonly; this call needs operator or finance.',
    );
  });

  it('give no access to the API of customers or to the metrics', async () => {
    // contract 4.11:1
    for (const path of ['/v1/models', '/v1/balance', '/metrics']) {
      expect((await call(app.baseUrl + path, { key: tokens.get('operator') ?? '' })).status).to.equal(401);
    }
  });
});

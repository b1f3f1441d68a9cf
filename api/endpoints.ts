/** All endpoints, in the order in which the API description lists them, and under their names there (`operationId`). */
import type { Endpoint, UnnamedEndpoint } from './endpoint/endpoint.ts';
import {
  createAccount,
  eraseContent,
  getAccount,
  getContent,
  listAccounts,
  reopenAccount,
  suspendAccount,
  updateAccount,
} from './routes/admin/accounts.ts';
import { adjust, topUp } from './routes/admin/credit.ts';
import { grantPromo, listPromo } from './routes/admin/promo-grants.ts';
import { createAdminToken, listAdminActions, listAdminTokens, revokeAdminToken } from './routes/admin/admin-tokens.ts';
import {
  getStatement,
  listBalanceEntriesOfAccount,
  listRefunds,
  listTextRequestsOfAccount,
  listTransfers,
  sumUsageOfAccount,
  sumUsageOfAccountByEndUser,
} from './routes/admin/finance.ts';
import { getAnyBillingDocument, listBillingDocumentsOfAccount } from './routes/admin/documents.ts';
import { getCatalogue } from './routes/admin/catalogue.ts';
import { find } from './routes/admin/find.ts';
import { deleteEndUserBudget, listEndUserBudgets, setEndUserBudget } from './routes/admin/end-user-budgets.ts';
import { createKey, deleteKey, getKey, listKeys, rotateKey, updateKey } from './routes/admin/keys.ts';
import { listRenders, sumMargins } from './routes/admin/margins.ts';
import { forgetVendorBill, getVendorBill, importVendorBill, listVendorBills } from './routes/admin/bills.ts';
import { closeMonth, exportMonth, listClosedMonths } from './routes/admin/months.ts';
import {
  acknowledgeFindings,
  getReconciliation,
  listReconciliations,
  reconcile,
} from './routes/admin/reconciliations.ts';
import {
  changePriceList,
  createPriceList,
  getPriceList,
  listPriceLists,
  listPriceListVersions,
  setPriceList,
} from './routes/admin/price-lists.ts';
import { applyConfiguration, getConfiguration, listConfigurationRecords } from './routes/admin/configuration.ts';
import { disableModel, enableModel, listSoldModels } from './routes/admin/models.ts';
import { cancelTask, explainTask, getAnyTask, listAllTasks, redeliverTask } from './routes/admin/tasks.ts';
import {
  createUser,
  createUserLink,
  deleteUser,
  getUser,
  joinAccount,
  endUserSession,
  leaveAccount,
  listUsers,
  removeUserIdentity,
  updateUser,
} from './routes/admin/users.ts';
import { listUpstreams, restUpstream, resumeUpstream } from './routes/admin/upstreams.ts';
import { getBillingDocument, listBillingDocuments } from './routes/balance/documents.ts';
import { getBalance, listBalanceEntries, updateBalance } from './routes/balance/routes.ts';
import { getDescription } from './routes/docs/routes.ts';
import { deleteFile, downloadFile, getFile, listFiles, uploadFile } from './routes/files/routes.ts';
import { isAlive, isReady } from './routes/health/routes.ts';
import { createImageTask } from './routes/images/routes.ts';
import { getMetrics } from './routes/metrics/routes.ts';
import { getNativeModel, listNativeModels } from './routes/models/native.ts';
import { getModel, listModels } from './routes/models/routes.ts';
import { announcePayment } from './routes/payment-events/routes.ts';
import { announceJobEnd } from './routes/provider-callbacks/routes.ts';
import {
  batchEmbedContents,
  createChatCompletion,
  createEmbeddings,
  createMessage,
  createResponse,
  embedContent,
  generateContent,
  streamGenerateContent,
} from './routes/text/routes.ts';
import { countContentTokens, countMessageTokens, countResponseTokens } from './routes/text/count-tokens.ts';
import { editImages, generateImages } from './routes/openai-media/images.ts';
import { createVideo, deleteVideo, getVideo, getVideoContent, listVideos } from './routes/openai-media/videos.ts';
import { serveMcp } from './routes/capabilities/mcp.ts';
import { inspectCapability, runCapability, searchCapabilities } from './routes/capabilities/routes.ts';
import { createModeration } from './routes/moderations/routes.ts';
import { cancelOwnTask, claimTask, getLateResult, getTask, listTasks } from './routes/tasks/routes.ts';
import { listTextRequests, sumUsage, sumUsageByEndUser } from './routes/usage/routes.ts';
import { getStatus } from './routes/status/routes.ts';
import { createVideoTask } from './routes/videos/routes.ts';
import { createWebhookOfAccount, listAllWebhooks, redeliverAllOfWebhook } from './routes/webhooks/administration.ts';
import {
  listAllDeliveries,
  listDeliveries,
  redeliver,
  redeliverAny,
  redeliverMany,
} from './routes/webhooks/deliveries.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from './routes/webhooks/routes.ts';

const MEDIA = {
  createVideoTask,
  createImageTask,
  listTasks,
  getTask,
  cancelOwnTask,
  getLateResult,
  claimTask,
  uploadFile,
  listFiles,
  getFile,
  deleteFile,
  downloadFile,
};
const OPENAI_MEDIA = { generateImages, editImages, createVideo, listVideos, getVideo, getVideoContent, deleteVideo };
const CAPABILITIES = { searchCapabilities, inspectCapability, runCapability, serveMcp };
const MODERATION = { createModeration };
const MODELS = { listModels, getModel, listNativeModels, getNativeModel };
const TEXT = {
  createChatCompletion,
  createResponse,
  createMessage,
  generateContent,
  streamGenerateContent,
  createEmbeddings,
  countMessageTokens,
  countResponseTokens,
  countContentTokens,
  embedContent,
  batchEmbedContents,
};
const WEBHOOKS = {
  createWebhook,
  listWebhooks,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  listDeliveries,
  redeliver,
  redeliverMany,
};
const ACCOUNT = {
  getBalance,
  updateBalance,
  listBalanceEntries,
  listBillingDocuments,
  getBillingDocument,
  sumUsage,
  sumUsageByEndUser,
  listTextRequests,
};
const ADMINISTRATION = {
  find,
  createAccount,
  listAccounts,
  getAccount,
  updateAccount,
  getContent,
  eraseContent,
  suspendAccount,
  reopenAccount,
  topUp,
  adjust,
  grantPromo,
  listPromo,
  setPriceList,
  listPriceLists,
  createPriceList,
  getPriceList,
  changePriceList,
  listPriceListVersions,
  createKey,
  listKeys,
  getKey,
  updateKey,
  rotateKey,
  deleteKey,
  setEndUserBudget,
  listEndUserBudgets,
  deleteEndUserBudget,
  listAllTasks,
  getAnyTask,
  cancelTask,
  redeliverTask,
  explainTask,
  createWebhookOfAccount,
  listAllWebhooks,
  redeliverAllOfWebhook,
  listAllDeliveries,
  redeliverAny,
  listUpstreams,
  restUpstream,
  resumeUpstream,
  getConfiguration,
  listConfigurationRecords,
  applyConfiguration,
  listSoldModels,
  disableModel,
  enableModel,
  getCatalogue,
  sumMargins,
  listRenders,
  createAdminToken,
  listAdminTokens,
  revokeAdminToken,
  listAdminActions,
  createUser,
  listUsers,
  getUser,
  updateUser,
  deleteUser,
  createUserLink,
  joinAccount,
  leaveAccount,
  removeUserIdentity,
  endUserSession,
};
const FINANCE = {
  listTransfers,
  listBalanceEntriesOfAccount,
  listBillingDocumentsOfAccount,
  getAnyBillingDocument,
  getStatement,
  sumUsageOfAccount,
  sumUsageOfAccountByEndUser,
  listTextRequestsOfAccount,
  listRefunds,
  exportMonth,
  closeMonth,
  listClosedMonths,
  importVendorBill,
  listVendorBills,
  getVendorBill,
  forgetVendorBill,
  reconcile,
  listReconciliations,
  getReconciliation,
  acknowledgeFindings,
};
const SERVICE = { isAlive, isReady, getMetrics };

const ENDPOINTS = named({
  ...MEDIA,
  ...OPENAI_MEDIA,
  ...CAPABILITIES,
  ...MODERATION,
  ...MODELS,
  ...TEXT,
  ...WEBHOOKS,
  ...ACCOUNT,
  ...ADMINISTRATION,
  ...FINANCE,
  ...SERVICE,
  getStatus,
  getDescription,
  announceJobEnd,
});

/** The endpoints of `{base_url}`. @param canTakePayments whether a payment provider announces payments */
export function endpointsFor({ canTakePayments }: { readonly canTakePayments: boolean }): readonly Endpoint[] {
  return canTakePayments ? [...ENDPOINTS, ...named({ announcePayment })] : ENDPOINTS;
}

/** The endpoints of `{text_base_url}`. */
export const TEXT_ADDRESS_ENDPOINTS = named({ ...MODELS, ...TEXT, ...SERVICE });

/** Names the endpoints by their keys. */
function named(endpoints: Readonly<Record<string, UnnamedEndpoint>>): readonly Endpoint[] {
  return Object.entries(endpoints).map(([id, unnamed]) => unnamed(id));
}

/** All endpoints, in the order in which the API description lists them. */
import type { Endpoint } from './endpoint/endpoint.ts';
import { accountMergeEndpoints } from './routes/admin/account-merges.ts';
import { adminAccountEndpoints } from './routes/admin/accounts.ts';
import { adminTokenEndpoints } from './routes/admin/admin-tokens.ts';
import { adminBatchEndpoints } from './routes/admin/batches.ts';
import { billEndpoints } from './routes/admin/bills.ts';
import { catalogueEndpoints } from './routes/admin/catalogue.ts';
import { configurationEndpoints } from './routes/admin/configuration.ts';
import { creditEndpoints } from './routes/admin/credit.ts';
import { accountBudgetEndpoints } from './routes/admin/account-budgets.ts';
import { accountPlanEndpoints } from './routes/admin/account-plans.ts';
import { endUserBudgetEndpoints } from './routes/admin/end-user-budgets.ts';
import { financeEndpoints } from './routes/admin/finance.ts';
import { findEndpoints } from './routes/admin/find.ts';
import { giftBatchEndpoints } from './routes/admin/gift-codes.ts';
import { registrationEndpoints } from './routes/admin/registrations.ts';
import { keyEndpoints } from './routes/admin/keys.ts';
import { marginEndpoints } from './routes/admin/margins.ts';
import { soldModelEndpoints } from './routes/admin/models.ts';
import { monthEndpoints } from './routes/admin/months.ts';
import { priceListEndpoints } from './routes/admin/price-lists.ts';
import { promoGrantEndpoints } from './routes/admin/promo-grants.ts';
import { reconciliationEndpoints } from './routes/admin/reconciliations.ts';
import { adminTaskEndpoints } from './routes/admin/tasks.ts';
import { upstreamEndpoints } from './routes/admin/upstreams.ts';
import { userEndpoints } from './routes/admin/users.ts';
import { messageBatchEndpoints } from './routes/batches/messages.ts';
import { batchEndpoints } from './routes/batches/routes.ts';
import { billingDocumentEndpoints } from './routes/balance/documents.ts';
import { giftCodeEndpoints } from './routes/balance/gift-codes.ts';
import { balanceEndpoints } from './routes/balance/routes.ts';
import { mcpEndpoints } from './routes/capabilities/mcp.ts';
import { capabilityEndpoints } from './routes/capabilities/routes.ts';
import { docsEndpoints } from './routes/docs/routes.ts';
import { fileEndpoints } from './routes/files/routes.ts';
import { healthEndpoints } from './routes/health/routes.ts';
import { imageTaskEndpoints } from './routes/images/routes.ts';
import { metricsEndpoints } from './routes/metrics/routes.ts';
import { nativeModelEndpoints } from './routes/models/native.ts';
import { modelEndpoints, pricingEndpoints } from './routes/models/routes.ts';
import { moderationEndpoints } from './routes/moderations/routes.ts';
import { openAiImageEndpoints } from './routes/openai-media/images.ts';
import { openAiVideoEndpoints } from './routes/openai-media/videos.ts';
import { paymentEventEndpoints } from './routes/payment-events/routes.ts';
import { providerCallbackEndpoints } from './routes/provider-callbacks/routes.ts';
import { realtimeEndpoints } from './routes/realtime/routes.ts';
import { statusEndpoints } from './routes/status/routes.ts';
import { taskEndpoints } from './routes/tasks/routes.ts';
import { countTokensEndpoints } from './routes/text/count-tokens.ts';
import { textEndpoints } from './routes/text/routes.ts';
import { storedResponseEndpoints } from './routes/text/stored-responses.ts';
import { nativeEmbeddingsEndpoints } from './routes/text/native-embeddings.ts';
import { usageEndpoints } from './routes/usage/routes.ts';
import { videoTaskEndpoints } from './routes/videos/routes.ts';
import { webhookAdministrationEndpoints } from './routes/webhooks/administration.ts';
import { deliveryEndpoints } from './routes/webhooks/deliveries.ts';
import { webhookEndpoints } from './routes/webhooks/routes.ts';

const MODELS = [...modelEndpoints, ...nativeModelEndpoints];
const TEXT = [...textEndpoints, ...storedResponseEndpoints, ...countTokensEndpoints, ...nativeEmbeddingsEndpoints];
const BATCHES = [...batchEndpoints, ...messageBatchEndpoints];
const SERVICE = [...healthEndpoints, ...metricsEndpoints];

const ENDPOINTS = [
  videoTaskEndpoints,
  imageTaskEndpoints,
  taskEndpoints,
  fileEndpoints,
  openAiImageEndpoints,
  openAiVideoEndpoints,
  capabilityEndpoints,
  mcpEndpoints,
  moderationEndpoints,
  MODELS,
  TEXT,
  BATCHES,
  realtimeEndpoints,
  webhookEndpoints,
  deliveryEndpoints,
  balanceEndpoints,
  billingDocumentEndpoints,
  giftCodeEndpoints,
  usageEndpoints,
  findEndpoints,
  adminAccountEndpoints,
  accountMergeEndpoints,
  creditEndpoints,
  promoGrantEndpoints,
  giftBatchEndpoints,
  registrationEndpoints,
  priceListEndpoints,
  keyEndpoints,
  accountBudgetEndpoints,
  accountPlanEndpoints,
  endUserBudgetEndpoints,
  adminTaskEndpoints,
  adminBatchEndpoints,
  webhookAdministrationEndpoints,
  upstreamEndpoints,
  configurationEndpoints,
  soldModelEndpoints,
  catalogueEndpoints,
  marginEndpoints,
  adminTokenEndpoints,
  userEndpoints,
  financeEndpoints,
  monthEndpoints,
  billEndpoints,
  reconciliationEndpoints,
  SERVICE,
  statusEndpoints,
  pricingEndpoints,
  docsEndpoints,
  providerCallbackEndpoints,
].flat();

/** The endpoints of `{base_url}`. @param canTakePayments whether a payment provider announces payments */
export function endpointsFor({ canTakePayments }: { readonly canTakePayments: boolean }): readonly Endpoint[] {
  return canTakePayments ? [...ENDPOINTS, ...paymentEventEndpoints] : ENDPOINTS;
}

/** The endpoints of `{text_base_url}`. */
export const TEXT_ADDRESS_ENDPOINTS = [...MODELS, ...TEXT, ...fileEndpoints, ...BATCHES, ...SERVICE];

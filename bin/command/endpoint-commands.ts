/** The commands that are one call of the administration each. */
import type { EndpointCommand } from './endpoint-command.ts';

/** The descriptions of the groups of commands. */
export const GROUPS: Readonly<Record<string, string>> = {
  accounts: 'accounts and their balances',
  keys: 'API keys',
  budgets: 'budgets of the end users whom text requests name',
  tasks: 'media tasks of all accounts',
  webhooks: 'webhook endpoints of customers, and their deliveries',
  upstreams: 'vendors behind the models',
  models: 'models of the catalogue',
  config: 'the catalogue and the file of upstreams',
  months: 'months of all accounts: exporting and closing them, and the bills of vendors',
  reconciliations: 'the reports of reconciliations',
  'admin-tokens': 'tokens for administration, each with a name and a role',
  'price-lists': 'what customers pay instead of the prices of the catalogue',
  users: 'people who sign in to the console',
};

export const ENDPOINT_COMMANDS: readonly EndpointCommand[] = [
  { usage: 'find <any_id>', call: 'find' },

  { usage: 'accounts create <name>', call: 'createAccount' },
  {
    usage: 'accounts list [search]',
    call: 'listAccounts',
    columns: 'id name email external_id balances.available_usd topped_up suspended created_at',
  },
  { usage: 'accounts show <account_id>', call: 'getAccount' },
  { usage: 'accounts update <account_id>', call: 'updateAccount' },
  { usage: 'accounts suspend <account_id>', call: 'suspendAccount' },
  { usage: 'accounts reopen <account_id>', call: 'reopenAccount' },
  { usage: 'accounts content <account_id>', call: 'getContent' },
  { usage: 'accounts erase <account_id>', call: 'eraseContent' },
  { usage: 'accounts top-up <account_id> <amount_usd>', call: 'topUp' },
  { usage: 'accounts adjust <account_id> <amount_usd>', call: 'adjust' },
  { usage: 'accounts grant-promo <account_id> <amount_usd>', call: 'grantPromo' },
  { usage: 'accounts price <account_id>', call: 'setPriceList' },
  {
    usage: 'accounts promo <account_id>',
    call: 'listPromo',
    columns: 'id amount_usd available_usd reserved_usd spent_usd expired_usd expires_at',
  },
  {
    usage: 'accounts entries <account_id>',
    call: 'listBalanceEntriesOfAccount',
    columns: 'created_at type amount_usd balance_usd model reference reason id',
  },
  {
    usage: 'accounts documents <account_id>',
    call: 'listBillingDocumentsOfAccount',
    columns: 'issued_at kind number month reference total_usd id',
  },
  { usage: 'accounts document <document_id>', call: 'getAnyBillingDocument' },
  {
    usage: 'accounts ledger <account_id>',
    call: 'listTransfers',
    columns: 'created_at kind amount_usd task_id text_request_id reference id',
  },
  {
    usage: 'accounts usage <account_id>',
    call: 'sumUsageOfAccount',
    columns:
      'date kind model api_key_id requests failed input_tokens output_tokens billable_duration_seconds charged_usd',
  },
  {
    usage: 'accounts end-users <account_id>',
    call: 'sumUsageOfAccountByEndUser',
    columns: 'end_user requests failed input_tokens output_tokens charged_usd',
  },
  {
    usage: 'accounts requests <account_id>',
    call: 'listTextRequestsOfAccount',
    columns:
      'id model format upstream outcome input_tokens cache_read_tokens output_tokens charged_usd estimated latency_ms',
  },

  { usage: 'keys create <account_id>', call: 'createKey' },
  {
    usage: 'keys list <account_id>',
    call: 'listKeys',
    columns: 'id name hint used_usd usage_limit_usd models disabled expires_at created_at',
  },
  { usage: 'keys show <key_id>', call: 'getKey' },
  { usage: 'keys update <key_id>', call: 'updateKey' },
  { usage: 'keys delete <key_id>', call: 'deleteKey' },

  { usage: 'budgets set <account_id>', call: 'setEndUserBudget' },
  {
    usage: 'budgets list <account_id>',
    call: 'listEndUserBudgets',
    columns: 'id end_user usage_limit_usd limit_period used_of_limit_usd renews_at',
  },
  { usage: 'budgets delete <budget_id>', call: 'deleteEndUserBudget' },

  {
    usage: 'tasks list',
    call: 'listAllTasks',
    columns: 'id account_id model status created_at completed_at usage.credits_charged error_code prompt',
  },
  { usage: 'tasks show <task_id>', call: 'getAnyTask' },
  { usage: 'tasks explain <task_id>', call: 'explainTask' },
  { usage: 'tasks cancel <task_id>', call: 'cancelTask' },
  { usage: 'tasks redeliver <task_id>', call: 'redeliverTask' },

  { usage: 'webhooks create <account_id> <url>', call: 'createWebhookOfAccount' },
  {
    usage: 'webhooks list',
    call: 'listAllWebhooks',
    columns: 'id account_id url events enabled failing_since disabled_reason',
  },
  {
    usage: 'webhooks deliveries',
    call: 'listAllDeliveries',
    columns: 'id account_id webhook_id event task_id status created_at next_attempt_at',
  },
  { usage: 'webhooks redeliver <delivery_id>', call: 'redeliverAny' },
  { usage: 'webhooks redeliver-all <webhook_id>', call: 'redeliverAllOfWebhook' },

  {
    usage: 'upstreams list',
    call: 'listUpstreams',
    columns:
      'kind name format model key state cause open_in requests failures p95_ms last_failure.fault last_failure.message',
    isDefault: true,
  },
  { usage: 'upstreams rest <upstream>', call: 'restUpstream' },
  { usage: 'upstreams resume <upstream>', call: 'resumeUpstream' },

  {
    usage: 'models list',
    call: 'listSoldModels',
    columns: 'id kind providers enabled disabled_at disabled_by disabled_reason',
    isDefault: true,
  },
  { usage: 'models disable <model_id>', call: 'disableModel' },
  { usage: 'models enable <model_id>', call: 'enableModel' },

  {
    usage: 'price-lists list',
    call: 'listPriceLists',
    columns: 'name accounts version_in_force latest_version created_at',
    isDefault: true,
  },
  { usage: 'price-lists show <price_list>', call: 'getPriceList' },
  { usage: 'price-lists create <name>', call: 'createPriceList' },
  { usage: 'price-lists change <price_list>', call: 'changePriceList' },
  {
    usage: 'price-lists versions <price_list>',
    call: 'listPriceListVersions',
    columns: 'version valid_from factor author reason created_at',
  },

  { usage: 'config show', call: 'getConfiguration' },
  {
    usage: 'config history',
    call: 'listConfigurationRecords',
    columns: 'created_at process catalogue_version digest refusal',
  },
  { usage: 'config apply', call: 'applyConfiguration' },

  {
    usage: 'margins',
    call: 'sumMargins',
    columns:
      'model upstream upstream_model succeeded failed without_cost revenue_usd cost_usd failed_cost_usd possible_loss_usd margin_usd',
  },
  {
    usage: 'renders',
    call: 'listRenders',
    columns:
      'created_at task_id model status upstream upstream_model job_id revenue_usd cost_usd possible_loss_usd margin_usd',
  },
  { usage: 'refunds', call: 'listRefunds', columns: 'created_at account_id amount_usd model cause task_id' },
  { usage: 'months close <month>', call: 'closeMonth' },
  { usage: 'months list', call: 'listClosedMonths', columns: 'month closed_at author transfers revenue_usd checksum' },
  {
    usage: 'months bills <month>',
    call: 'listVendorBills',
    columns: 'vendor lines billed_usd imported_at author',
  },
  { usage: 'months bill <month> <vendor>', call: 'getVendorBill' },
  { usage: 'months forget-bill <month> <vendor>', call: 'forgetVendorBill' },
  {
    usage: 'reconciliations list',
    call: 'listReconciliations',
    columns: 'id status findings_total requested_by created_at finished_at',
    isDefault: true,
  },

  { usage: 'admin-tokens create <name>', call: 'createAdminToken' },
  {
    usage: 'admin-tokens list',
    call: 'listAdminTokens',
    columns: 'id name role hint created_by created_at expires_at last_used_at',
  },
  { usage: 'admin-tokens revoke <admin_token_id>', call: 'revokeAdminToken' },
  { usage: 'actions', call: 'listAdminActions', columns: 'created_at author action path request_id' },

  { usage: 'users invite <email> <name>', call: 'createUser' },
  {
    usage: 'users list [search]',
    call: 'listUsers',
    columns: 'id email name staff_role has_password has_second_factor disabled_at created_at',
  },
  { usage: 'users show <user_id>', call: 'getUser' },
  { usage: 'users link <user_id>', call: 'createUserLink' },
  { usage: 'users update <user_id>', call: 'updateUser' },
  { usage: 'users join <user_id> <account_id>', call: 'joinAccount' },
  { usage: 'users leave <user_id> <account_id>', call: 'leaveAccount' },
  { usage: 'users disconnect <user_id> <identity_id>', call: 'removeUserIdentity' },
  { usage: 'users sign-out <user_id> <session_id>', call: 'endUserSession' },
  { usage: 'users remove <user_id>', call: 'deleteUser' },
];

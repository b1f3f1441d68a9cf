/** The commands that make one call of the administration each. */
import type { EndpointCommand } from './endpoint-command.ts';

/** The descriptions of the groups of commands. */
export const GROUPS: Readonly<Record<string, string>> = {
  accounts: 'accounts and their balances',
  keys: 'API keys',
  'account-budgets': 'budgets of accounts and of groups of their models',
  budgets: 'budgets of the end users whom text requests name',
  batches: 'batches of text requests of all accounts',
  tasks: 'media tasks of all accounts',
  webhooks: 'webhook endpoints of customers, and their deliveries',
  upstreams: 'vendors behind the models',
  models: 'models of the catalogue',
  config: 'the catalogue and the file of upstreams',
  months: 'months of all accounts: exporting and closing them, and the bills of vendors',
  reconciliations: 'the reports of reconciliations',
  'admin-tokens': 'tokens for administration, each with a name and a role',
  'price-lists': 'price lists of customers, which replace the prices of the catalogue',
  'gift-codes': 'gift codes, issued in batches',
  plans: 'monthly plans of accounts',
  registrations: 'registrations of strangers, and blocks',
  users: 'people who sign in to the console',
};

export const ENDPOINT_COMMANDS: readonly EndpointCommand[] = [
  ['find <any_id>', 'find'],

  ['accounts create <name>', 'createAccount'],
  [
    'accounts list [search]',
    'listAccounts',
    'id name email external_id balances.available_usd topped_up suspended closed merged_into created_at',
  ],
  ['accounts show <account_id>', 'getAccount'],
  ['accounts update <account_id>', 'updateAccount'],
  ['accounts suspend <account_id>', 'suspendAccount'],
  ['accounts reopen <account_id>', 'reopenAccount'],
  ['accounts merge <account_id> <target_account_id>', 'mergeAccount'],
  [
    'accounts merges',
    'listAccountMerges',
    'created_at account_id target_account_id merge_status reason author decided_by completed_at',
  ],
  ['accounts content <account_id>', 'getContent'],
  ['accounts erase <account_id>', 'eraseContent'],
  ['accounts top-up <account_id> <amount_usd>', 'topUp'],
  ['accounts adjust <account_id> <amount_usd>', 'adjust'],
  ['accounts grant-promo <account_id> <amount_usd>', 'grantPromo'],
  ['accounts plan <account_id>', 'getAccountPlan'],
  ['accounts price <account_id>', 'setPriceList'],
  [
    'accounts promo <account_id>',
    'listPromo',
    'id amount_usd available_usd reserved_usd spent_usd expired_usd expires_at',
  ],
  [
    'accounts entries <account_id>',
    'listBalanceEntriesOfAccount',
    'created_at type amount_usd balance_usd model reference reason id',
  ],
  [
    'accounts documents <account_id>',
    'listBillingDocumentsOfAccount',
    'issued_at kind number month reference total_usd id',
  ],
  ['accounts document <document_id>', 'getAnyBillingDocument'],
  ['accounts ledger <account_id>', 'listTransfers', 'created_at kind amount_usd task_id text_request_id reference id'],
  [
    'accounts usage <account_id>',
    'sumUsageOfAccount',
    'date kind model api_key_id requests failed input_tokens output_tokens billable_duration_seconds charged_usd',
  ],
  [
    'accounts end-users <account_id>',
    'sumUsageOfAccountByEndUser',
    'end_user requests failed input_tokens output_tokens charged_usd',
  ],
  [
    'accounts requests <account_id>',
    'listTextRequestsOfAccount',
    'id model format upstream outcome input_tokens cache_read_tokens output_tokens charged_usd estimated latency_ms batch_id',
  ],

  ['keys create <account_id>', 'createKey'],
  ['keys list <account_id>', 'listKeys', 'id name hint used_usd usage_limit_usd models disabled expires_at created_at'],
  ['keys show <key_id>', 'getKey'],
  ['keys update <key_id>', 'updateKey'],
  ['keys rotate <key_id>', 'rotateKey'],
  ['keys delete <key_id>', 'deleteKey'],

  ['account-budgets set <account_id>', 'setAccountBudget'],
  [
    'account-budgets list <account_id>',
    'listAccountBudgets',
    'id models usage_limit_usd limit_period used_of_limit_usd is_ceiling renews_at',
  ],
  ['account-budgets delete <account_budget_id>', 'deleteAccountBudget'],

  ['budgets set <account_id>', 'setEndUserBudget'],
  [
    'budgets list <account_id>',
    'listEndUserBudgets',
    'id end_user usage_limit_usd limit_period used_of_limit_usd renews_at',
  ],
  ['budgets delete <budget_id>', 'deleteEndUserBudget'],

  [
    'batches list',
    'listAllBatches',
    'id account_id endpoint status paused_reason request_counts.total request_counts.completed charged_usd created_at',
  ],
  ['batches show <batch_id>', 'getAnyBatch'],
  ['batches explain <batch_id>', 'explainBatch'],
  ['batches cancel <batch_id>', 'cancelAnyBatch'],
  ['batches pause <batch_id>', 'pauseBatch'],
  ['batches resume <batch_id>', 'resumeBatch'],
  ['batches retry <batch_id>', 'retryBatch'],

  [
    'tasks list',
    'listAllTasks',
    'id account_id model status created_at completed_at usage.credits_charged error_code prompt',
  ],
  ['tasks show <task_id>', 'getAnyTask'],
  ['tasks explain <task_id>', 'explainTask'],
  ['tasks cancel <task_id>', 'cancelTask'],
  ['tasks redeliver <task_id>', 'redeliverTask'],

  ['webhooks create <account_id> <url>', 'createWebhookOfAccount'],
  ['webhooks list', 'listAllWebhooks', 'id account_id url events enabled failing_since disabled_reason'],
  [
    'webhooks deliveries',
    'listAllDeliveries',
    'id account_id webhook_id event task_id status created_at next_attempt_at',
  ],
  ['webhooks redeliver <delivery_id>', 'redeliverAny'],
  ['webhooks redeliver-all <webhook_id>', 'redeliverAllOfWebhook'],

  [
    'upstreams list',
    'listUpstreams',
    'kind name format model key state cause open_in requests failures p95_ms last_failure.fault last_failure.message',
    'default',
  ],
  ['upstreams rest <upstream>', 'restUpstream'],
  ['upstreams resume <upstream>', 'resumeUpstream'],

  ['models list', 'listSoldModels', 'id kind providers enabled disabled_at disabled_by disabled_reason', 'default'],
  ['models disable <model_id>', 'disableModel'],
  ['models enable <model_id>', 'enableModel'],

  ['price-lists list', 'listPriceLists', 'name accounts version_in_force latest_version created_at', 'default'],
  ['price-lists show <price_list>', 'getPriceList'],
  ['price-lists create <name>', 'createPriceList'],
  ['price-lists change <price_list>', 'changePriceList'],
  ['price-lists versions <price_list>', 'listPriceListVersions', 'version valid_from factor author reason created_at'],

  [
    'plans subscribers',
    'listPlanSubscribers',
    'account_id plan state since period_ends_at limits_until paid_usd returned_usd lost_usd',
  ],

  ['gift-codes issue <label>', 'issueGifts'],
  [
    'gift-codes list',
    'listGiftBatches',
    'id label status kind amount_usd count redeemed_count issued_usd redeemed_usd open_usd expired_usd withdrawn_usd expires_at',
  ],
  ['gift-codes show <gift_batch_id>', 'getGiftBatch'],
  ['gift-codes redeemed <gift_batch_id>', 'listRedeemedGifts', 'redeemed_at id account_id credit_id'],
  ['gift-codes withdraw <gift_batch_id>', 'withdrawGifts'],

  ['config show', 'getConfiguration'],
  ['config history', 'listConfigurationRecords', 'created_at process catalogue_version digest refusal'],
  ['config apply', 'applyConfiguration'],

  [
    'margins',
    'sumMargins',
    'model upstream upstream_model succeeded failed without_cost revenue_usd cost_usd failed_cost_usd possible_loss_usd margin_usd',
  ],
  [
    'renders',
    'listRenders',
    'created_at task_id model status upstream upstream_model job_id revenue_usd cost_usd possible_loss_usd margin_usd',
  ],
  ['refunds', 'listRefunds', 'created_at account_id amount_usd model cause task_id'],
  ['months close <month>', 'closeMonth'],
  ['months list', 'listClosedMonths', 'month closed_at author transfers revenue_usd checksum'],
  ['months bills <month>', 'listVendorBills', 'vendor lines billed_usd imported_at author'],
  ['months bill <month> <vendor>', 'getVendorBill'],
  ['months forget-bill <month> <vendor>', 'forgetVendorBill'],
  [
    'reconciliations list',
    'listReconciliations',
    'id status findings_total requested_by created_at finished_at',
    'default',
  ],

  [
    'registrations list',
    'listRegistrations',
    'created_at email network source state state_reason signup_credit account_id id',
  ],
  ['registrations approve <registration_id>', 'approveRegistration'],
  ['registrations reject <registration_id>', 'rejectRegistration'],
  ['registrations block <block_kind> <value>', 'blockRegistrations'],
  [
    'registrations blocks',
    'listRegistrationBlocks',
    'id block_kind value author reason created_at lifted_by lift_reason lifted_at',
  ],
  ['registrations unblock <registration_block_id>', 'liftRegistrationBlock'],

  ['admin-tokens create <name>', 'createAdminToken'],
  ['admin-tokens list', 'listAdminTokens', 'id name role hint created_by created_at expires_at last_used_at'],
  ['admin-tokens revoke <admin_token_id>', 'revokeAdminToken'],
  ['actions', 'listAdminActions', 'created_at author action reason path request_id'],

  ['users invite <email> <name>', 'createUser'],
  [
    'users list [search]',
    'listUsers',
    'id email name staff_role has_password has_second_factor disabled_at created_at',
  ],
  ['users show <user_id>', 'getUser'],
  ['users link <user_id>', 'createUserLink'],
  ['users update <user_id>', 'updateUser'],
  ['users join <user_id> <account_id>', 'joinAccount'],
  ['users leave <user_id> <account_id>', 'leaveAccount'],
  ['users disconnect <user_id> <identity_id>', 'removeUserIdentity'],
  ['users sign-out <user_id> <session_id>', 'endUserSession'],
  ['users remove <user_id>', 'deleteUser'],
];

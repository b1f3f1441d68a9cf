/** What an account has and used, and what finance reads. */
import type { presentReconciliation, presentReconciliationWithFindings } from '../routes/admin/reconciliations.ts';
import type { presentAdminTextUsage, presentRefund, presentStatement } from '../routes/admin/present-finance.ts';
import type { presentBalance } from '../routes/balance/present.ts';
import type { presentDailyUsage, presentTextUsage } from '../routes/usage/present.ts';
import { USAGE } from '../../domain/policy.ts';
import {
  arrayOf,
  boolean,
  exactly,
  fieldsOf,
  integer,
  type JsonSchema,
  nullable,
  object,
  oneOfTexts,
  ref,
  text,
  unixSeconds,
  usd,
  idOf,
} from './json-schema.ts';
import { type Content, json } from '../endpoint/answers.ts';
import { type Operation } from './operation.ts';
import { envelopeOf, listOf, PAGE, PERIOD, query } from './shared.ts';

type TextRequest = ReturnType<typeof presentTextUsage>;
type AdminTextRequest = ReturnType<typeof presentAdminTextUsage>;
type Balance = ReturnType<typeof presentBalance>;
type Statement = ReturnType<typeof presentStatement>;
type Report = ReturnType<typeof presentReconciliationWithFindings>;

const count = (description: string): JsonSchema => integer(description, { minimum: 0 });
const exactUsd = (description: string): JsonSchema =>
  text(`${description}; USD, exact`, { pattern: String.raw`^-?\d+(\.\d{1,12})?$` });
const isoTime = (description: string): JsonSchema => text(description, { format: 'date-time' });

const BOOKS = fieldsOf<Statement['opening']>({
  available_usd: exactUsd('What can be spent'),
  reserved_usd: exactUsd('What is held for what is under way'),
  total_usd: exactUsd('Both together'),
});

const RECONCILIATION = fieldsOf<ReturnType<typeof presentReconciliation>>({
  id: idOf('reconciliation'),
  object: exactly('reconciliation'),
  status: oneOfTexts(['running', 'clean', 'findings'], 'What came of it'),
  requested_by: oneOfTexts(['schedule', 'operator']),
  created_at: isoTime('When it was asked for'),
  finished_at: nullable(isoTime('When it ended')),
  findings_total: count('How many rows do not agree with the others'),
  checks: arrayOf(
    object({
      check: text('Its name'),
      question: text(),
      findings: count('How many there are'),
      duration_ms: count('Ms'),
    }),
    'Empty while it runs',
  ),
});

const TEXT_REQUEST = fieldsOf<TextRequest>({
  id: idOf('textRequest'),
  object: exactly('text_request'),
  created_at: unixSeconds('When it began'),
  request_id: text('Correlates it with the answer’s `x-request-id`'),
  api_key_id: idOf('apiKey'),
  model: text('The model'),
  format: text('The wire format'),
  stream: boolean('Whether it was answered as a stream'),
  outcome: oneOfTexts(
    ['succeeded', 'disconnected', 'failed', 'abandoned'],
    'A client that disconnects pays for what was produced; what failed or was abandoned is free',
  ),
  error_code: nullable(text('Of a failure')),
  rates_version: text('The edition of the catalogue that it was priced by'),
  input_tokens: count('The whole prompt, cached or not'),
  cache_read_tokens: count('The part of it that was read from a cache'),
  cache_write_tokens: count('The part of it that was written to a cache'),
  output_tokens: count('All that was generated, reasoning included'),
  reasoning_tokens: nullable(count('The part of it that is reasoning, where reported')),
  estimated: boolean('Whether the gateway counted because the upstream did not'),
  price_modifiers: arrayOf(
    object({ kind: oneOfTexts(['tier', 'peak']), factor: text('What every rate was multiplied by') }),
  ),
  charged_usd: usd('What was charged'),
  latency_ms: nullable(count('Until the end')),
  first_byte_ms: nullable(count('Until the first byte of the answer')),
});

export const FINANCE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Balance: object(
    fieldsOf<Balance>({
      object: exactly('balance'),
      available_usd: usd('What can be spent'),
      funded_usd: usd('The part of it that was paid for'),
      signup_usd: usd('The part of it that was given'),
      reserved_usd: usd('Held for what is under way'),
      topped_up: boolean('Whether the account ever topped up, which unlocks all models'),
      key: object(
        fieldsOf<Balance['key']>({
          id: idOf('apiKey'),
          used_usd: usd('What the calling key was charged and holds'),
          usage_limit_usd: nullable(usd('What it may spend in all; null for no limit')),
        }),
      ),
    }),
  ),
  DailyUsage: object(
    fieldsOf<ReturnType<typeof presentDailyUsage>>({
      object: exactly('daily_usage'),
      date: text('The day, in UTC', { format: 'date' }),
      kind: oneOfTexts(['image', 'video', 'text']),
      model: text('The model'),
      api_key_id: idOf('apiKey'),
      requests: count('Requests and tasks that ended well'),
      failed: count('Those that failed, free of charge'),
      input_tokens: count('Whole prompts, cached or not'),
      cache_read_tokens: count('The part of the input that was read from a cache'),
      cache_write_tokens: count('The part of the input that was written to a cache'),
      output_tokens: count('All that was generated, reasoning included'),
      billable_duration_seconds: count('Seconds of video'),
      charged_usd: usd('What was charged'),
    }),
    'What one key used of one model on one day.',
  ),
  TextRequest: object(TEXT_REQUEST, 'A text request that ended.'),
  AdminTextRequest: object(
    {
      ...TEXT_REQUEST,
      ...fieldsOf<Omit<AdminTextRequest, keyof TextRequest>>({
        account_id: idOf('account'),
        upstream: nullable(text('The provider that it was sent to')),
        upstream_format: nullable(text('The wire format that the provider speaks')),
        held_usd: usd('What was held before the model was called'),
        absorbed_usd: usd('What it cost beyond what the account had'),
      }),
    },
    'A text request that ended, as operators see it.',
  ),
  Statement: object(
    fieldsOf<Statement>({
      object: exactly('statement'),
      account_id: idOf('account'),
      date: text('The day, in UTC', { format: 'date' }),
      opening: object(BOOKS),
      activity: arrayOf(
        object(
          fieldsOf<Statement['activity'][number]>({
            kind: text('`topup`, `reservation`, `settlement`, …'),
            transfers: count('How many'),
            ...BOOKS,
          }),
        ),
        'What the transfers of each kind changed',
      ),
      closing: object(BOOKS),
    }),
    'Opening and activity make closing, of each book.',
  ),
  Refund: object(
    fieldsOf<ReturnType<typeof presentRefund>>({
      id: idOf('transfer'),
      object: exactly('refund'),
      created_at: isoTime('When it was given'),
      account_id: idOf('account'),
      api_key_id: nullable(idOf('apiKey')),
      amount_usd: usd('What was given back'),
      reservation_id: nullable(idOf('transfer', 'The reservation that it resolves')),
      task_id: nullable(idOf('task')),
      text_request_id: nullable(idOf('textRequest')),
      model: nullable(text('The model')),
      cause: nullable(text('The code of the failure')),
      message: nullable(text('What the client was told')),
      request_id: nullable(text('Correlates it with the logs')),
      history_url: nullable(text('The history of the task in Temporal', { format: 'uri' })),
    }),
  ),
  Reconciliation: object(RECONCILIATION),
  ReconciliationReport: object({
    ...RECONCILIATION,
    ...fieldsOf<Pick<Report, 'findings'>>({
      findings: arrayOf(
        object({
          check: text('Which check found it'),
          subject: text('The id of the row'),
          detail: text('What is wrong; amounts are in pico-USD'),
          remedy: text('What to do about it'),
        }),
        'The first hundred of each check',
      ),
    }),
  }),
};

export const ACCOUNT_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/balance',
    id: 'getBalance',
    tag: 'Account',
    summary: 'Get what the account has',
    access: 'key',
    answers: { 200: { description: 'The balance', content: json(envelopeOf(ref('Balance'))) } },
  },
  {
    method: 'get',
    path: '/v1/usage',
    id: 'sumUsage',
    tag: 'Account',
    summary: 'Sum up what the account used, by day, model and key',
    description: `The last ${USAGE.defaultDays} days where nothing else is asked for, and at most ${USAGE.maxDays}. Tasks count once they are final.`,
    access: 'key',
    parameters: PERIOD,
    answers: {
      200: { description: 'Newest day first', content: json(object({ data: arrayOf(ref('DailyUsage')) })) },
    },
    refusals: [400],
  },
  {
    method: 'get',
    path: '/v1/usage/requests',
    id: 'listTextRequests',
    tag: 'Account',
    summary: 'List text requests with their tokens and charges, newest first',
    access: 'key',
    parameters: [
      query('api_key_id', 'Only requests of that key', text()),
      query('model', 'Only requests to that model', text()),
      ...PERIOD,
      ...PAGE,
    ],
    answers: { 200: { description: 'A page of text requests', content: json(listOf(ref('TextRequest'))) } },
    refusals: [400],
  },
];

/** Beside a page, all rows in the media types of exports. */
const ALL_ROWS: Content = {
  'text/csv': { schema: text('All rows, a line each after a header; amounts are exact') },
  'application/x-ndjson': { schema: text('All rows, a JSON object a line') },
};
const EXPORTS =
  'By `Accept: text/csv` or `application/x-ndjson` all rows are sent as they are read, without pages; amounts in CSV are exact.';

export const FINANCE_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/admin/v1/accounts/{account_id}/ledger',
    id: 'listTransfers',
    tag: 'Administration',
    summary: 'List the transfers of an account',
    description: `As JSON a page, newest first; all rows together are sent oldest first. ${EXPORTS}`,
    access: 'admin',
    parameters: [...PERIOD, ...PAGE],
    answers: {
      200: {
        description: 'Transfers',
        content: { ...json(listOf(ref('Transfer'))), ...ALL_ROWS },
      },
    },
    refusals: [400, 404],
  },
  {
    method: 'get',
    path: '/admin/v1/accounts/{account_id}/statements',
    id: 'getStatement',
    tag: 'Administration',
    summary: 'Get the statement of a day',
    description: EXPORTS,
    access: 'admin',
    parameters: [
      {
        ...query('date', 'The day, in UTC', text(undefined, { format: 'date' })),
        required: true,
        allowEmptyValue: false,
      },
    ],
    answers: {
      200: { description: 'The statement', content: { ...json(envelopeOf(ref('Statement'))), ...ALL_ROWS } },
    },
    refusals: [400, 404],
  },
  {
    method: 'get',
    path: '/admin/v1/accounts/{account_id}/usage',
    id: 'sumUsageOfAccount',
    tag: 'Administration',
    summary: 'Sum up what an account used, by day, model and key',
    description: `The last ${USAGE.defaultDays} days where nothing else is asked for, and at most ${USAGE.maxDays}. ${EXPORTS}`,
    access: 'admin',
    parameters: PERIOD,
    answers: {
      200: {
        description: 'Newest day first',
        content: { ...json(object({ data: arrayOf(ref('DailyUsage')) })), ...ALL_ROWS },
      },
    },
    refusals: [400, 404],
  },
  {
    method: 'get',
    path: '/admin/v1/accounts/{account_id}/usage/requests',
    id: 'listTextRequestsOfAccount',
    tag: 'Administration',
    summary: 'List the text requests of an account with their routes, tokens and charges, newest first',
    description: EXPORTS,
    access: 'admin',
    parameters: [
      query('api_key_id', 'Only requests of that key', text()),
      query('model', 'Only requests to that model', text()),
      ...PERIOD,
      ...PAGE,
    ],
    answers: {
      200: {
        description: 'A page of text requests',
        content: { ...json(listOf(ref('AdminTextRequest'))), ...ALL_ROWS },
      },
    },
    refusals: [400, 404],
  },
  {
    method: 'get',
    path: '/admin/v1/refunds',
    id: 'listRefunds',
    tag: 'Administration',
    summary: 'List refunds with what they were for and why, newest first',
    access: 'admin',
    description: EXPORTS,
    parameters: [query('account_id', 'Only refunds to that account', text()), ...PERIOD, ...PAGE],
    answers: {
      200: { description: 'A page of refunds', content: { ...json(listOf(ref('Refund'))), ...ALL_ROWS } },
    },
    refusals: [400],
  },
  {
    method: 'post',
    path: '/admin/v1/reconciliations',
    id: 'reconcile',
    tag: 'Administration',
    summary: 'Compare the books with each other and with Temporal, now',
    description: 'Answers at once; the report is read when it is ready. It is also made every hour.',
    access: 'admin',
    answers: { 201: { description: 'It runs', content: json(envelopeOf(ref('Reconciliation'))) } },
    refusals: [503],
  },
  {
    method: 'get',
    path: '/admin/v1/reconciliations',
    id: 'listReconciliations',
    tag: 'Administration',
    summary: 'List reconciliations, newest first',
    access: 'admin',
    parameters: PAGE,
    answers: { 200: { description: 'A page of reconciliations', content: json(listOf(ref('Reconciliation'))) } },
    refusals: [400],
  },
  {
    method: 'get',
    path: '/admin/v1/reconciliations/{reconciliation_id}',
    id: 'getReconciliation',
    tag: 'Administration',
    summary: 'Get the report of a reconciliation',
    access: 'admin',
    description: 'By `Accept: text/csv` or `application/x-ndjson` its findings, a line each.',
    answers: {
      200: { description: 'The report', content: { ...json(envelopeOf(ref('ReconciliationReport'))), ...ALL_ROWS } },
    },
    refusals: [404],
  },
];

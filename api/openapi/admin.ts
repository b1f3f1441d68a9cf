/** What operators call. */
import type { TaskObject } from '../../domain/task-object.ts';
import type { presentAccount, presentAdminTask, presentTransfer } from '../routes/admin/present.ts';
import { adjustmentSchema, createAccountSchema, operatorActionSchema, topUpSchema } from '../routes/admin/schema.ts';
import { toJsonSchema } from './joi-schema.ts';
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
import { TASK_FIELDS } from '../routes/tasks/present.ts';
import { json } from '../endpoint/answers.ts';
import { jsonBody, type Operation } from './operation.ts';
import { envelopeOf, listOf, PAGE, PERIOD, query } from './shared.ts';
import { AdminDeliverySchema } from '../routes/webhooks/present.ts';

type Account = ReturnType<typeof presentAccount>;
type AdminTask = ReturnType<typeof presentAdminTask>;

const isoTime = (description: string): JsonSchema => text(description, { format: 'date-time' });

const ACTION_FIELDS = {
  id: idOf('operatorAction'),
  object: exactly('operator_action'),
  kind: oneOfTexts(['cancel', 'redeliver']),
  task_id: idOf('task'),
  author: text('Who'),
  reason: text('Why'),
  created_at: unixSeconds('When it was done'),
};

export const ADMIN_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  CreateAccount: toJsonSchema(createAccountSchema),
  TopUp: toJsonSchema(topUpSchema),
  Adjustment: toJsonSchema(adjustmentSchema),
  OperatorActionRequest: toJsonSchema(operatorActionSchema),
  Account: object(
    fieldsOf<Account>({
      id: idOf('account'),
      object: exactly('account'),
      name: text('For people'),
      created_at: unixSeconds('When it was created'),
      topped_up: boolean('Whether it ever topped up, which unlocks all models'),
      balances: object(
        fieldsOf<Account['balances']>({
          available_usd: usd('What can be spent'),
          funded_usd: usd('The part of it that was paid for'),
          signup_usd: usd('The part of it that was given'),
          reserved_usd: usd('Held for what is under way'),
        }),
      ),
      totals: object(
        fieldsOf<Account['totals']>({
          topped_up_usd: usd('Paid in'),
          signup_granted_usd: usd('Given'),
          charged_usd: usd('Charged'),
          refunded_usd: usd('Refunded'),
          adjusted_usd: usd('Added by hand, less what was taken'),
        }),
      ),
    }),
  ),
  Transfer: object(
    fieldsOf<ReturnType<typeof presentTransfer>>({
      id: idOf('transfer'),
      object: exactly('transfer'),
      created_at: isoTime('When the money moved'),
      kind: text('`topup`, `reservation`, `settlement`, …'),
      debit: text('The book that it left'),
      credit: text('The book that it entered'),
      amount_usd: usd('The amount, above 0'),
      signup_usd: usd('The part of it that is signup credit'),
      released_usd: usd('Given back of the reservation, in a settlement of less'),
      pending_id: nullable(idOf('transfer', 'The reservation that this resolves')),
      account_id: idOf('account'),
      api_key_id: nullable(idOf('apiKey')),
      task_id: nullable(idOf('task')),
      text_request_id: nullable(text()),
      reference: nullable(text('Of a top-up')),
      author: nullable(text('Of an adjustment')),
      reason: nullable(text('Of an adjustment')),
    }),
    'One row of the ledger, with both of its legs.',
  ),
  AdminTask: object({
    ...TASK_FIELDS,
    ...fieldsOf<Omit<AdminTask, keyof TaskObject>>({
      account_id: idOf('account'),
      api_key_id: idOf('apiKey'),
      provider: text('Who renders it'),
      provider_job_id: nullable(text('What the provider calls it')),
      reservation_id: idOf('transfer', 'The transfer that holds the price'),
      resolution_id: nullable(idOf('transfer', 'The transfer that charged or refunded it')),
      deadline_at: unixSeconds('When it is given up'),
      workflow_id: text('Its workflow'),
      history_url: text('The history of the workflow', { format: 'uri' }),
    }),
  }),
  OperatorAction: object(ACTION_FIELDS),
  TaskExplanation: object({
    object: exactly('task_explanation'),
    verdict: text('How the task stands and what follows from it'),
    lines: arrayOf(text(), 'The whole story for people'),
    task: ref('AdminTask'),
    transfers: arrayOf(ref('Transfer')),
    deliveries: arrayOf(AdminDeliverySchema),
    operator_actions: arrayOf(ref('OperatorAction')),
    workflow: nullable(
      object({
        run_id: text(),
        status: text(),
        started_at: isoTime('When it started'),
        closed_at: nullable(isoTime('When it ended')),
        history_events: integer(),
        pending: arrayOf(text(), 'What it is at now'),
      }),
    ),
    events: arrayOf(object({ at: isoTime('When'), source: text(), text: text() }), 'Oldest first'),
  }),
};

const accountAnswer = (description: string) => ({ description, content: json(envelopeOf(ref('Account'))) });

const TOP_UP = json(
  envelopeOf(
    object({
      id: idOf('transfer'),
      object: exactly('topup'),
      account_id: idOf('account'),
      amount_usd: usd('What was credited'),
      reference: text(),
      created_at: unixSeconds('When it was credited'),
      applied: boolean('False when the reference had credited it before'),
    }),
  ),
);

export const ADMIN_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/admin/v1/accounts',
    id: 'createAccount',
    tag: 'Administration',
    summary: 'Create an account',
    access: 'admin',
    body: jsonBody(ref('CreateAccount')),
    answers: { 201: accountAnswer('The account') },
  },
  {
    method: 'get',
    path: '/admin/v1/accounts/{account_id}',
    id: 'getAccount',
    tag: 'Administration',
    summary: 'Get an account with its balances',
    access: 'admin',
    answers: { 200: accountAnswer('The account') },
    refusals: [404],
  },
  {
    method: 'post',
    path: '/admin/v1/accounts/{account_id}/topups',
    id: 'topUp',
    tag: 'Administration',
    summary: 'Credit a payment',
    description: 'A reference credits once: the same again answers 200 and changes nothing, with another amount 409.',
    access: 'admin',
    body: jsonBody(ref('TopUp')),
    answers: {
      200: { description: 'It was credited before', content: TOP_UP },
      201: { description: 'It is credited', content: TOP_UP },
    },
    refusals: [404, 409],
  },
  {
    method: 'post',
    path: '/admin/v1/accounts/{account_id}/adjustments',
    id: 'adjust',
    tag: 'Administration',
    summary: 'Add or take money by hand',
    access: 'admin',
    body: jsonBody(ref('Adjustment')),
    answers: {
      201: {
        description: 'The ledger has it',
        content: json(
          envelopeOf(object({ id: idOf('transfer'), object: exactly('adjustment'), account: ref('Account') })),
        ),
      },
    },
    refusals: [402, 404],
  },
  {
    method: 'get',
    path: '/admin/v1/tasks',
    id: 'listAllTasks',
    tag: 'Administration',
    summary: 'List tasks of all accounts, newest first',
    access: 'admin',
    parameters: [
      query('account_id', 'Only tasks of that account', text()),
      query('status', 'Only tasks in that state', oneOfTexts(['queued', 'processing', 'succeeded', 'failed'])),
      query('model', 'Only tasks of that model', text()),
      ...PERIOD,
      ...PAGE,
    ],
    answers: { 200: { description: 'A page of tasks', content: json(listOf(ref('AdminTask'))) } },
    refusals: [400],
  },
  {
    method: 'get',
    path: '/admin/v1/tasks/{task_id}',
    id: 'getAnyTask',
    tag: 'Administration',
    summary: 'Get a task of any account, with a link to its history',
    access: 'admin',
    answers: { 200: { description: 'The task', content: json(envelopeOf(ref('AdminTask'))) } },
    refusals: [404],
  },
  {
    method: 'post',
    path: '/admin/v1/tasks/{task_id}/cancel',
    id: 'cancelTask',
    tag: 'Administration',
    summary: 'End a running task and refund it',
    access: 'admin',
    body: jsonBody(ref('OperatorActionRequest')),
    answers: {
      202: {
        description: 'The task is being ended',
        content: json(envelopeOf(object({ ...ACTION_FIELDS, task: ref('AdminTask') }))),
      },
    },
    refusals: [404, 503],
  },
  {
    method: 'post',
    path: '/admin/v1/tasks/{task_id}/redeliver',
    id: 'redeliverTask',
    tag: 'Administration',
    summary: 'Send the events of a task again',
    access: 'admin',
    body: jsonBody(ref('OperatorActionRequest')),
    answers: {
      202: {
        description: 'How many deliveries are on their way again',
        content: json(envelopeOf(object({ ...ACTION_FIELDS, count: integer() }))),
      },
    },
    refusals: [404],
  },
  {
    method: 'get',
    path: '/admin/v1/tasks/{task_id}/explanation',
    id: 'explainTask',
    tag: 'Administration',
    summary: 'Tell the story of a task',
    description:
      'What its row, the ledger, its workflow, its deliveries and operators know of it. As plain text by `Accept`.',
    access: 'admin',
    answers: {
      200: {
        description: 'The story',
        content: { ...json(envelopeOf(ref('TaskExplanation'))), 'text/plain': { schema: text() } },
      },
    },
    refusals: [404],
  },
];

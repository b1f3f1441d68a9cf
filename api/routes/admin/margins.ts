/** What was sold and what it cost: by model and upstream, and render by render. */
import {
  listRenders as findRenders,
  type Margin,
  type Render,
  streamRenders,
  sumMargins,
} from '../../../db/queries/margins.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { formatUsd, toUsdNumber } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { pageById, pageOf, presentPage } from '../../endpoint/page.ts';
import { anyText, oneOf, PERIOD } from '../../endpoint/query.ts';
import { type Column, EXPORTS, orAllRows, sendAll } from '../../exports.ts';
import {
  arrayOf,
  count,
  exactly,
  idOf,
  isoTime,
  namedObject,
  oneOfTexts,
  text,
  usd,
} from '../../openapi/json-schema.ts';
import { usagePeriod } from '../usage/period.ts';
import { USAGE_DAYS } from '../usage/routes.ts';
import { presentVendorCost, VendorCostSchema } from './present-submissions.ts';

const MarginSchema = namedObject<ReturnType<typeof presentMargin>>('Margin', {
  object: exactly('margin'),
  kind: oneOfTexts(['video', 'image', 'text']),
  model: text('The model that clients asked for'),
  upstream: nullable(text('Who rendered or answered; null if nobody did')),
  upstream_model: nullable(text('Its name for the model; null if nothing was submitted')),
  succeeded: count('Tasks and requests that were charged'),
  failed: count('Those that failed: their clients paid nothing'),
  without_cost: count('Those that succeeded and whose cost is not known'),
  revenue_usd: usd('What clients paid'),
  cost_usd: usd('What those that succeeded cost, as far as it is known'),
  failed_cost_usd: usd('What the upstream charged for those that failed'),
  possible_loss_usd: usd('The list price of what may have been rendered for nobody'),
  margin_usd: nullable(usd('Revenue whose cost is known, less all cost; null if no cost is known')),
});

const RenderSchema = namedObject<ReturnType<typeof presentRender>>('Render', {
  object: exactly('render'),
  task_id: idOf('task'),
  created_at: isoTime('When the task was created'),
  account_id: idOf('account'),
  kind: oneOfTexts(['video', 'image']),
  model: text('The model that the client asked for'),
  status: oneOfTexts(['succeeded', 'failed']),
  error_code: nullable(text('Why it failed')),
  upstream: text('Who rendered it'),
  upstream_model: nullable(text('Its name for the model; null if nothing was submitted')),
  job_id: nullable(text('What the upstream calls the job')),
  revenue_usd: usd('What the client paid'),
  cost_usd: nullable(usd('What it cost; null if it is not known')),
  vendor_cost: nullable(VendorCostSchema),
  possible_loss_usd: usd('The list price of what may have been rendered for nobody'),
  margin_usd: nullable(usd('Revenue less cost; null if the cost is not known')),
});

export const sumMarginsByModel = endpoint({
  id: 'sumMargins',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/margins',
  access: 'admin-read',
  summary: 'Sum up revenue, cost and margin by model and upstream',
  description: `Of what was created in the period and has ended. ${USAGE_DAYS} ${EXPORTS}`,
  query: PERIOD,
  answers: { 200: orAllRows(dataOf(arrayOf(MarginSchema), 'A row for each model and upstream')) },
  handle: async ({ query, context }, { reports }) => {
    const margins = await sumMargins(reports, usagePeriod(query));
    const rows = () => margins;
    if (sendAll(context, { rows, columns: MARGIN_COLUMNS, present: presentMargin })) return undefined;
    return { data: margins.map(presentMargin) };
  },
});

export const listRenders = endpoint({
  id: 'listRenders',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/renders',
  access: 'admin-read',
  summary: 'List media tasks that have ended with what they brought in and cost, newest first',
  description: EXPORTS,
  query: {
    model: anyText('Only of that model'),
    upstream: anyText('Only by that upstream'),
    status: oneOf(['succeeded', 'failed'], 'Only with that status'),
    ...PERIOD,
    ...pageById('task'),
  },
  answers: { 200: orAllRows(pageOf(RenderSchema, 'A page of renders')) },
  handle: async ({ query: { cursor: before, limit, ...filter }, context }, { reports }) => {
    const rows = () => streamRenders(reports, filter);
    if (sendAll(context, { rows, columns: RENDER_COLUMNS, present: presentRender })) return undefined;
    const found = await findRenders(reports, { ...filter, before, limit: limit + 1 });
    return presentPage(found, limit, presentRender);
  },
});

function presentMargin(margin: Margin) {
  return {
    object: 'margin',
    kind: margin.kind,
    model: margin.model,
    upstream: margin.upstream,
    upstream_model: margin.upstreamModel,
    succeeded: margin.succeeded,
    failed: margin.failed,
    without_cost: margin.withoutCost,
    revenue_usd: toUsdNumber(margin.revenue),
    cost_usd: toUsdNumber(margin.cost),
    failed_cost_usd: toUsdNumber(margin.failedCost),
    possible_loss_usd: toUsdNumber(margin.possibleLoss),
    margin_usd: margin.margin === null ? null : toUsdNumber(margin.margin),
  };
}

const MARGIN_COLUMNS: readonly Column<Margin>[] = [
  ['kind', ({ kind }) => kind],
  ['model', ({ model }) => model],
  ['upstream', ({ upstream }) => upstream],
  ['upstream_model', ({ upstreamModel }) => upstreamModel],
  ['succeeded', ({ succeeded }) => succeeded],
  ['failed', ({ failed }) => failed],
  ['without_cost', ({ withoutCost }) => withoutCost],
  ['revenue_usd', ({ revenue }) => formatUsd(revenue)],
  ['cost_usd', ({ cost }) => formatUsd(cost)],
  ['failed_cost_usd', ({ failedCost }) => formatUsd(failedCost)],
  ['possible_loss_usd', ({ possibleLoss }) => formatUsd(possibleLoss)],
  ['margin_usd', ({ margin }) => (margin === null ? null : formatUsd(margin))],
];

function presentRender(render: Render) {
  const { cost, revenue } = render;
  return {
    object: 'render',
    task_id: render.id,
    created_at: render.createdAt.toISOString(),
    account_id: render.accountId,
    kind: render.kind,
    model: render.model,
    status: render.status,
    error_code: render.errorCode,
    upstream: render.upstream,
    upstream_model: render.upstreamModel,
    job_id: render.jobId,
    revenue_usd: toUsdNumber(revenue),
    cost_usd: cost === null ? null : toUsdNumber(cost),
    vendor_cost: render.vendorCost && presentVendorCost(render.vendorCost),
    possible_loss_usd: toUsdNumber(render.possibleLoss),
    margin_usd: cost === null ? null : toUsdNumber(revenue - cost),
  };
}

const RENDER_COLUMNS: readonly Column<Render>[] = [
  ['created_at', ({ createdAt }) => createdAt.toISOString()],
  ['task_id', ({ id }) => id],
  ['account_id', ({ accountId }) => accountId],
  ['kind', ({ kind }) => kind],
  ['model', ({ model }) => model],
  ['status', ({ status }) => status],
  ['error_code', ({ errorCode }) => errorCode],
  ['upstream', ({ upstream }) => upstream],
  ['upstream_model', ({ upstreamModel }) => upstreamModel],
  ['job_id', ({ jobId }) => jobId],
  ['revenue_usd', ({ revenue }) => formatUsd(revenue)],
  ['cost_usd', ({ cost }) => (cost === null ? null : formatUsd(cost))],
  ['vendor_amount', ({ vendorCost }) => vendorCost && vendorCost.amount],
  ['vendor_unit', ({ vendorCost }) => vendorCost && vendorCost.unit],
  ['possible_loss_usd', ({ possibleLoss }) => formatUsd(possibleLoss)],
  ['margin_usd', ({ revenue, cost }) => (cost === null ? null : formatUsd(revenue - cost))],
];

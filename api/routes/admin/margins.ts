/** Revenue and cost: by model and upstream, and render by render. */
import {
  listRenders as findRenders,
  type Margin,
  type Render,
  streamRenders,
  sumMargins,
} from '../../../db/queries/margins.ts';
import { percentOf } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import * as field from '../../../domain/resource/field.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { anyText, oneOf, PERIOD } from '../../endpoint/query.ts';
import { resource } from '../../../domain/resource/resource.ts';
import { EXPORTS, orAllRows, sendAll } from '../../exports.ts';
import { arrayOf } from '../../../domain/json-schema.ts';
import { askerOf } from '../../services/administrator.ts';
import { usagePeriod } from '../usage/period.ts';
import { USAGE_DAYS } from '../usage/routes.ts';
import { VENDOR_COST } from './present-submissions.ts';

const MARGIN = resource<Margin>('Margin', {
  object: field.constant('margin'),
  kind: field.oneOf(['video', 'image', 'text'])('kind'),
  model: field.text('model', 'The model that clients asked for'),
  upstream: field.text.orNull('upstream', 'Who rendered or answered; null if nobody did'),
  upstream_model: field.text.orNull('upstreamModel', 'Its name for the model; null if nothing was submitted'),
  succeeded: field.count('succeeded', 'Tasks and requests that were charged'),
  failed: field.count('failed', 'Those that failed: their clients paid nothing'),
  without_cost: field.count('withoutCost', 'Those that succeeded and whose cost is not known'),
  revenue_usd: field.usd('revenue', 'What clients paid'),
  cost_usd: field.usd.orNull('cost', 'What those that succeeded cost, as far as it is known; null if no cost is known'),
  failed_cost_usd: field.usd('failedCost', 'What the upstream charged for those that failed'),
  possible_loss_usd: field.usd('possibleLoss', 'The list price of what may have been rendered or generated for nobody'),
  margin_usd: field.usd.orNull('margin', 'Revenue whose cost is known, less all cost; null if no cost is known'),
  margin_percent: field.number.orNull(percentOfMargin, 'The margin in percent of the revenue whose cost is known'),
});

/** A percentage of the revenue whose cost is known; null if there is none. */
function percentOfMargin({ margin, cost, failedCost }: Margin): number | null {
  return margin === null ? null : percentOf(margin, margin + (cost ?? 0n) + failedCost);
}

const RENDER = resource<Render>('Render', {
  created_at: field.isoTime('createdAt', 'When the task was created'),
  object: field.constant('render'),
  task_id: field.id('task')('id'),
  account_id: field.id('account')('accountId'),
  kind: field.oneOf(['video', 'image'])('kind'),
  model: field.text('model', 'The model that the client asked for'),
  status: field.oneOf(['succeeded', 'failed'])('status'),
  error_code: field.text.orNull('errorCode', 'Why it failed'),
  upstream: field.text('upstream', 'Who rendered it'),
  upstream_model: field.text.orNull('upstreamModel', 'Its name for the model; null if nothing was submitted'),
  job_id: field.text.orNull('jobId', 'What the upstream calls the job'),
  revenue_usd: field.usd('revenue', 'What the client paid'),
  cost_usd: field.usd.orNull('cost', 'What it cost; null if it is not known'),
  vendor_cost: field.object(VENDOR_COST).orNull('vendorCost'),
  possible_loss_usd: field.usd('possibleLoss', 'The list price of what may have been rendered for nobody'),
  margin_usd: field.usd.orNull(
    ({ revenue, cost }) => (cost === null ? null : revenue - cost),
    'Revenue less cost; null if the cost is not known',
  ),
});

export const sumMarginsByModel = endpoint({
  id: 'sumMargins',
  request: 'GET /admin/v1/margins',
  access: 'admin-read',
  summary: 'Sum up revenue, cost and margin by model and upstream',
  description: `Of what was created in the period and has ended. ${USAGE_DAYS} ${EXPORTS}`,
  query: PERIOD,
  answers: { 200: orAllRows(dataOf(arrayOf(MARGIN.schema), 'A row for each model and upstream')) },
  handle: async ({ query, caller, context }, { reports, inTurn }) => {
    const period = usagePeriod(query);
    const margins = await inTurn(askerOf(caller), () => sumMargins(reports, period));
    if (sendAll(context, () => margins, MARGIN)) return undefined;
    return { data: margins.map(MARGIN.present) };
  },
});

export const listRenders = endpoint({
  id: 'listRenders',
  request: 'GET /admin/v1/renders',
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
  answers: { 200: orAllRows(pageOf(RENDER.schema, 'A page of renders')) },
  handle: ({ query, context }, { reports }) => {
    const { cursor: _cursor, limit: _limit, ...filter } = query;
    if (sendAll(context, () => streamRenders(reports, filter), RENDER)) return undefined;
    return listPage(query, (slice) => findRenders(reports, { ...filter, ...slice }), RENDER.present);
  },
});

/** Revenue and cost: by model and upstream, and render by render. */
import {
  listRenders as findRenders,
  type Margin,
  type Render,
  streamRenders,
  sumMargins as readMargins,
} from '../../../db/queries/margins.ts';
import { percentOf } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import * as field from '../../../domain/resource/field.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { textParameter, choiceParameter, PERIOD } from '../../endpoint/query.ts';
import { resource } from '../../../domain/resource/resource.ts';
import { EXPORTS, withExports, sendAll } from '../../exports.ts';
import { arrayOf } from '../../../domain/json-schema.ts';
import { reportQueueKey } from '../../../services/people/administrator.ts';
import { usagePeriod } from '../../../services/input/usage-period.ts';
import { USAGE_DAYS } from '../usage/routes.ts';
import { VENDOR_COST, VENDOR_MESSAGE } from '../../../services/resources/submissions.ts';

const MARGIN = resource<Margin>('Margin', {
  object: field.constant('margin'),
  kind: field.oneOf(['video', 'image', 'text'])('kind'),
  model: field.text('model', 'The model that clients requested'),
  upstream: field.text.orNull('upstream', 'The upstream that rendered or answered. Null if none did'),
  upstream_model: field.text.orNull('upstreamModel', 'The upstream’s name for the model. Null if none was asked'),
  succeeded: field.count('succeeded', 'The number of charged tasks and requests'),
  failed: field.count('failed', 'The number of failed tasks and requests, which cost their clients nothing'),
  without_cost: field.count('withoutCost', 'The number of succeeded tasks and requests whose cost is unknown'),
  revenue_usd: field.usd('revenue', 'The amount that clients paid'),
  cost_usd: field.usd.orNull('cost', 'The known cost of succeeded tasks and requests. Null if no cost is known'),
  failed_cost_usd: field.usd('failedCost', 'The amount that the upstream charged for failed tasks and requests'),
  possible_loss_usd: field.usd('possibleLoss', 'The list price of possible results that no client received'),
  margin_usd: field.usd.orNull(
    'margin',
    'The revenue whose cost is known, less all known cost. Null if there is revenue, but none whose cost is known',
  ),
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
  model: field.text('model', 'The model that the client requested'),
  status: field.oneOf(['succeeded', 'failed'])('status'),
  error_code: field.text.orNull('errorCode', 'The error code of a failed task'),
  upstream: field.text('upstream', 'The upstream that rendered the task'),
  upstream_model: field.text.orNull('upstreamModel', 'The upstream’s name for the model. Null if none was asked'),
  job_id: field.text.orNull('jobId', 'The upstream’s id of the job'),
  revenue_usd: field.usd('revenue', 'The amount that the client paid'),
  cost_usd: field.usd.orNull('cost', 'The cost. Null if unknown'),
  vendor_cost: field.object(VENDOR_COST).orNull('vendorCost'),
  possible_loss_usd: field.usd('possibleLoss', 'The list price of possible renders that no client received'),
  margin_usd: field.usd.orNull(
    ({ revenue, cost }) => (cost === null ? null : revenue - cost),
    'The revenue less the cost. Null if the cost is unknown',
  ),
  vendor_message: field.text.orNull('vendorMessage', VENDOR_MESSAGE),
});

export const marginEndpoints = endpoints('Administration', {
  sumMargins: endpoint({
    request: 'GET /admin/v1/margins',
    access: 'admin-read',
    summary: 'Sum up revenue, cost and margin by model and upstream',
    description: `Covers tasks and text requests that were created in the period and have ended. ${USAGE_DAYS} ${EXPORTS}`,
    query: PERIOD,
    answers: { 200: withExports(dataOf(arrayOf(MARGIN.schema), 'A row for each model and upstream')) },
    handle: async ({ query, caller, context }, { reports, money: { queueReport } }) => {
      const period = usagePeriod(query);
      const margins = await queueReport(reportQueueKey(caller), () => readMargins(reports, period));
      if (sendAll(context, () => margins, MARGIN)) return undefined;
      return { data: margins.map(MARGIN.present) };
    },
  }),
  listRenders: endpoint({
    request: 'GET /admin/v1/renders',
    access: 'admin-read',
    summary: 'List ended media tasks with revenue and cost, newest first',
    description: EXPORTS,
    query: {
      model: textParameter('Filters by model'),
      upstream: textParameter('Filters by upstream'),
      status: choiceParameter(['succeeded', 'failed'], 'Filters by status'),
      ...PERIOD,
      ...pageById('task'),
    },
    answers: { 200: withExports(pageOf(RENDER.schema, 'A page of renders')) },
    handle: ({ query, context }, { reports }) => {
      const { cursor: _cursor, limit: _limit, ...filter } = query;
      if (sendAll(context, () => streamRenders(reports, filter), RENDER)) return undefined;
      return listPage(query, (slice) => findRenders(reports, { ...filter, ...slice }), RENDER.present);
    },
  }),
});

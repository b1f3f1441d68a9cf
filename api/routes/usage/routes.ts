/** What the calling account used, by day and request by request. */
import type Router from '@koa/router';
import { listTextUsage, sumDailyUsage } from '../../../db/queries/usage.ts';
import { badRequest } from '../../../domain/errors.ts';
import { USAGE } from '../../../domain/policy.ts';
import { pageOf, presentPage, queryTime, queryValue } from '../../pagination.ts';
import type { ApiServices } from '../../services/services.ts';
import { callerOf, type Context, type RequestState } from '../../state.ts';
import { idCursor, queryId } from '../webhooks/query.ts';
import { presentDailyUsage, presentTextUsage } from './present.ts';

const MS_PER_DAY = 24 * 60 * 60 * 1000;

export function usageRoutes(router: Router<RequestState>, { reports, authenticate, limitRequests }: ApiServices): void {
  router.get('/v1/usage', authenticate, limitRequests, async (context) => {
    const { from, to } = usagePeriodOf(context);
    const days = await sumDailyUsage(reports, { accountId: callerOf(context).account.id, from, to });
    context.body = { data: days.map(presentDailyUsage) };
  });

  router.get('/v1/usage/requests', authenticate, limitRequests, async (context) => {
    const { limit, after } = pageOf(context, 1);
    const requests = await listTextUsage(reports, {
      accountId: callerOf(context).account.id,
      apiKeyId: queryId(context, 'api_key_id', 'apiKey'),
      model: queryValue(context, 'model'),
      from: queryTime(context, 'from'),
      to: queryTime(context, 'to'),
      before: idCursor('textRequest', after),
      limit: limit + 1,
    });
    context.body = presentPage(requests, limit, presentTextUsage, ({ id }) => [id]);
  });
}

/** The last days, today included, where nothing else is asked for. @throws ServiceError `bad_request` */
export function usagePeriodOf(context: Context): { from: Date; to: Date } {
  const to = queryTime(context, 'to') ?? new Date();
  const from = queryTime(context, 'from') ?? startOfDay(new Date(to.getTime() - (USAGE.defaultDays - 1) * MS_PER_DAY));
  if (from >= to) throw badRequest('"from" must be before "to"');
  if (to.getTime() - from.getTime() > USAGE.maxDays * MS_PER_DAY) {
    throw badRequest(`"from" and "to" must be at most ${USAGE.maxDays} days apart`);
  }
  return { from, to };
}

function startOfDay(moment: Date): Date {
  return new Date(Math.floor(moment.getTime() / MS_PER_DAY) * MS_PER_DAY);
}

import { DAY_MS, daysAfter } from '../../domain/day.ts';
import { badRequest } from '../../domain/errors.ts';
import { USAGE } from '../../domain/policy.ts';

/** Defaults to the last days, including today. @throws ServiceError `bad_request` */
export function usagePeriod(requested: { from: Date | undefined; to: Date | undefined }): { from: Date; to: Date } {
  const { to = new Date() } = requested;
  const { from = startOfDay(daysAfter(to, 1 - USAGE.defaultDays)) } = requested;
  if (from >= to) throw badRequest('"from" must be before "to"');
  if (to.getTime() - from.getTime() > USAGE.maxDays * DAY_MS) {
    throw badRequest(`"from" and "to" must be at most ${USAGE.maxDays} days apart`);
  }
  return { from, to };
}

function startOfDay(moment: Date): Date {
  return new Date(Math.floor(moment.getTime() / DAY_MS) * DAY_MS);
}

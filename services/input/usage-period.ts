import { badRequest } from '../../domain/errors.ts';
import { USAGE } from '../../domain/policy.ts';

const MS_PER_DAY = 24 * 60 * 60 * 1000;

/** Defaults to the last days, including today. @throws ServiceError `bad_request` */
export function usagePeriod(requested: { from: Date | undefined; to: Date | undefined }): { from: Date; to: Date } {
  const { to = new Date() } = requested;
  const { from = startOfDay(new Date(to.getTime() - (USAGE.defaultDays - 1) * MS_PER_DAY)) } = requested;
  if (from >= to) throw badRequest('"from" must be before "to"');
  if (to.getTime() - from.getTime() > USAGE.maxDays * MS_PER_DAY) {
    throw badRequest(`"from" and "to" must be at most ${USAGE.maxDays} days apart`);
  }
  return { from, to };
}

function startOfDay(moment: Date): Date {
  return new Date(Math.floor(moment.getTime() / MS_PER_DAY) * MS_PER_DAY);
}

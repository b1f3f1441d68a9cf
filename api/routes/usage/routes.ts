/** The usage of the calling account, by day and by request. */
import { sumDailyUsage } from '../../../db/queries/daily-usage.ts';
import { MAX_END_USERS, sumEndUserUsage } from '../../../db/queries/end-user-usage.ts';
import { listTextUsage } from '../../../db/queries/usage.ts';
import { USAGE } from '../../../domain/policy.ts';
import { type Answer, json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { idParameter, textParameter, PERIOD } from '../../endpoint/query.ts';
import { arrayOf, object } from '../../../domain/json-schema.ts';
import { usagePeriod } from '../../../services/input/usage-period.ts';
import { DAILY_USAGE, END_USER_USAGE, TEXT_REQUEST } from '../../../services/resources/usage.ts';

export const USAGE_DAYS = `The period is the last ${USAGE.defaultDays} days by default, and at most ${USAGE.maxDays} days.`;

export const DAILY_USAGE_ANSWER: Answer = {
  description: 'The usage by day, newest first',
  content: json(object({ data: arrayOf(DAILY_USAGE.schema) })),
};

/** The filters and pages of text requests. */
export const TEXT_REQUESTS = {
  api_key_id: idParameter('apiKey', 'Filters by API key'),
  batch_id: idParameter('batch', 'Filters by batch'),
  model: textParameter('Filters by model'),
  ...PERIOD,
  ...pageById('textRequest'),
};

export const END_USERS_ANSWER: Answer = {
  description: `The usage by end user, highest charge first, at most ${MAX_END_USERS}`,
  content: json(object({ data: arrayOf(END_USER_USAGE.schema) })),
};

export const usageEndpoints = endpoints('Account', {
  sumUsage: endpoint({
    request: 'GET /v1/usage',
    access: 'key',
    summary: 'Sum up usage by day, model and key',
    description: `${USAGE_DAYS} Only final tasks count.`,
    query: PERIOD,
    answers: { 200: DAILY_USAGE_ANSWER },
    handle: async ({ caller, query }, { reports }) => {
      const days = await sumDailyUsage(reports, { accountId: caller.account.id, ...usagePeriod(query) });
      return { data: days.map(DAILY_USAGE.present) };
    },
  }),
  sumUsageByEndUser: endpoint({
    request: 'GET /v1/usage/end-users',
    access: 'key',
    summary: 'Sum up usage by end user',
    description: `${USAGE_DAYS} Only final tasks count.`,
    query: PERIOD,
    answers: { 200: END_USERS_ANSWER },
    handle: async ({ caller, query }, { reports, money: { queueReport } }) => {
      const filter = { accountId: caller.account.id, ...usagePeriod(query) };
      const users = await queueReport(filter.accountId, () => sumEndUserUsage(reports, filter));
      return { data: users.map(END_USER_USAGE.present) };
    },
  }),
  listTextRequests: endpoint({
    request: 'GET /v1/usage/requests',
    access: 'key',
    summary: 'List text requests with their tokens and charges, newest first',
    query: TEXT_REQUESTS,
    answers: { 200: pageOf(TEXT_REQUEST.schema, 'A page of text requests') },
    handle: ({ caller, query }, { reports }) => {
      const filter = { ...query, accountId: caller.account.id, apiKeyId: query.api_key_id, batchId: query.batch_id };
      return listPage(query, (slice) => listTextUsage(reports, { ...filter, ...slice }), TEXT_REQUEST.present);
    },
  }),
});

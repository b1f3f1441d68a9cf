/** The public status: contract 4.12. */
import { STATUS } from '../../../domain/policy.ts';
import {
  arrayOf,
  exactly,
  nullable,
  number,
  object,
  oneOfTexts,
  text,
  unixSeconds,
} from '../../../domain/json-schema.ts';
import { SERVICE_STATUSES, statusOf } from '../../../domain/service-status.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import type { PublicStatus, ServiceReport } from '../../../services/operations/public-status.ts';

const STATUS_SCHEMA = oneOfTexts(
  SERVICE_STATUSES,
  '`operational`: at least 99 % of requests are answered; `degraded`: at least half; `outage`: fewer',
);
const availability = (period: string) =>
  nullable(
    number(`The share of requests that were answered ${period}. Null if there were no requests`, {
      minimum: 0,
      maximum: 1,
    }),
  );

const SERVICE_SCHEMA = object({
  kind: oneOfTexts(['text', 'video', 'image', 'webhooks'] satisfies ServiceReport['kind'][]),
  family: nullable(text('The family of models. Null unless the kind is `text`')),
  status: STATUS_SCHEMA,
  availability: availability('on the days of `days` with requests, each day equally'),
  days: arrayOf(
    object({
      date: text('In UTC', { format: 'date' }),
      status: nullable(STATUS_SCHEMA),
      availability: availability('on the day'),
    }),
    `The last ${STATUS.days} days, ending today`,
  ),
});

export const statusEndpoints = endpoints('Service', {
  getStatus: endpoint({
    request: 'GET /status.json',
    access: 'open',
    summary: 'Show the availability of each service',
    answers: {
      200: {
        description: `The status, at most ${STATUS.freshSeconds} seconds old`,
        content: json(
          object({
            object: exactly('status'),
            status: STATUS_SCHEMA,
            updated_at: unixSeconds('When Genway read the status'),
            services: arrayOf(SERVICE_SCHEMA),
          }),
        ),
      },
    },
    handle: async ({ context }, { operations: { readStatus } }) => {
      const status = await readStatus();
      const body = BODIES.get(status) ?? JSON.stringify(present(status));
      BODIES.set(status, body);
      context.set({ 'Cache-Control': `public, max-age=${STATUS.freshSeconds}`, 'Access-Control-Allow-Origin': '*' });
      context.type = 'application/json';
      return body;
    },
  }),
});

/** The JSON of each status, written once for all readers. */
const BODIES = new WeakMap<PublicStatus, string>();

function present({ status, updatedAtMs, services }: PublicStatus) {
  return {
    object: 'status',
    status,
    updated_at: Math.floor(updatedAtMs / 1000),
    services: services.map(({ days, ...service }) => ({
      ...service,
      days: days.map(({ date, availability }) => ({
        date,
        status: availability === null ? null : statusOf(availability),
        availability,
      })),
    })),
  };
}

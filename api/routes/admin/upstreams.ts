/** Upstreams: their health, taking them out of service and putting them back. */
import type { UpstreamOrder } from '../../../db/queries/upstream-orders.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { WAY_CAUSES, type WayState } from '../../../providers/text/way-state.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody, optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { arrayOf, count, exactly, isoTime, namedObject, oneOfTexts, text } from '../../openapi/json-schema.ts';
import { type Administrator, authorOf } from '../../services/administrator.ts';
import { orderUpstream } from '../../services/order-upstream.ts';
import type { ApiServices } from '../../services/services.ts';
import { optionalReasonSchema, restUpstreamSchema } from './schema.ts';

const UpstreamSchema = namedObject<ReturnType<typeof presentWay>>('Upstream', {
  name: text('The name that catalogue routes use'),
  kind: exactly('text'),
  format: oneOfTexts(WIRE_FORMAT_NAMES, 'Its wire format'),
  model: text('Its name for the model'),
  key: nullable(text('The last four characters of the key')),
  state: oneOfTexts(
    ['ok', 'resting', 'probing'],
    '`probing`: its pause is over, and one request tests whether it works again',
  ),
  cause: nullable(oneOfTexts(WAY_CAUSES, 'Why it is out of service')),
  since: nullable(isoTime('When it went out of service')),
  until: nullable(isoTime('When it may be tried again')),
  requests: count('Requests since the process started'),
  failures: count('How many of them the upstream failed'),
});

const UpstreamOrderSchema = namedObject<ReturnType<typeof presentOrder>>('UpstreamOrder', {
  object: exactly('upstream_order'),
  upstream: text('The name of the upstream'),
  kind: oneOfTexts(['rest', 'resume']),
  until: nullable(isoTime('When it returns to service')),
  author: text('Who'),
  reason: text('Why'),
  created_at: isoTime('When the order was given'),
});

export const listUpstreams = endpoint({
  id: 'listUpstreams',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/upstreams',
  access: 'admin-read',
  summary: 'List upstreams with their health',
  description: 'One row for each model and key of an upstream, as seen by the process that answers.',
  answers: { 200: dataOf(arrayOf(UpstreamSchema), 'The upstreams') },
  handle: async (_call, { upstreams }) => ({ data: upstreams.list().map(presentWay) }),
});

export const restUpstream = endpoint({
  id: 'restUpstream',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/upstreams/{upstream}/rest',
  access: 'admin',
  summary: 'Take an upstream out of service for a while',
  description:
    'Takes effect in all processes within seconds. Running requests continue. New ones never use it, even if no other upstream is left.',
  body: jsonBody('RestUpstream', restUpstreamSchema),
  answers: { 200: dataOf(UpstreamOrderSchema, 'Out of service') },
  refusals: ['not_found'],
  handle: ({ params, caller, body: { seconds, ...why } }, services) =>
    order(services, params.upstream, seconds, { ...why, by: caller }),
});

export const resumeUpstream = endpoint({
  id: 'resumeUpstream',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/upstreams/{upstream}/resume',
  access: 'admin',
  summary: 'Put an upstream back into service',
  description: 'Takes effect in all processes within seconds and clears its record of failures.',
  body: optionalJsonBody('ResumeUpstream', optionalReasonSchema),
  answers: { 200: dataOf(UpstreamOrderSchema, 'Back in service') },
  refusals: ['not_found'],
  handle: ({ params, caller, body }, services) => order(services, params.upstream, null, { ...body, by: caller }),
});

interface Why {
  readonly author?: string;
  readonly reason?: string;
  readonly by: Administrator;
}

async function order(
  services: Pick<ApiServices, 'database' | 'upstreams'>,
  upstream: string,
  restSeconds: number | null,
  { author: given, reason = 'not given', by }: Why,
) {
  const author = authorOf(by, given);
  return { data: presentOrder(await orderUpstream(services, { upstream, restSeconds, author, reason })) };
}

function presentWay({ sinceMs, untilMs, ...way }: WayState) {
  return {
    name: way.name,
    kind: 'text',
    format: way.format,
    model: way.model,
    key: way.key,
    state: way.state,
    cause: way.cause,
    since: isoOf(sinceMs),
    until: isoOf(untilMs),
    requests: way.requests,
    failures: way.failures,
  };
}

function presentOrder({ upstream, until, author, reason, createdAt }: UpstreamOrder) {
  return {
    object: 'upstream_order',
    upstream,
    kind: until === null ? 'resume' : 'rest',
    until: until?.toISOString() ?? null,
    author,
    reason,
    created_at: createdAt.toISOString(),
  };
}

function isoOf(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

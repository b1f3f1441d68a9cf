/** Upstreams: their health, taking them out of service and putting them back. */
import type { UpstreamOrder } from '../../../db/queries/upstream-orders.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { WAY_CAUSES, type WayState } from '../../../providers/text/way-state.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody, optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import {
  arrayOf,
  count,
  exactly,
  isoTime,
  namedObject,
  oneOfTexts,
  optional,
  text,
} from '../../openapi/json-schema.ts';
import { type Administrator, authorOf } from '../../services/administrator.ts';
import type { MediaWayState } from '../../services/media-ways.ts';
import { orderUpstream } from '../../services/order-upstream.ts';
import type { ApiServices } from '../../services/services.ts';
import { optionalReasonSchema, restUpstreamSchema } from './schema.ts';

const UpstreamSchema = namedObject<UpstreamObject>('Upstream', {
  name: text('The name that catalogue routes use'),
  kind: oneOfTexts(['text', 'media']),
  format: optional(oneOfTexts(WIRE_FORMAT_NAMES, 'Its wire format; for text')),
  protocol: optional(nullable(text('The vendor’s API; for media'))),
  model: text('Its name for the model'),
  key: nullable(text('The last four characters of the key')),
  state: oneOfTexts(
    ['ok', 'resting', 'probing'],
    '`probing`: its pause is over, and one request tests whether it works again',
  ),
  cause: nullable(oneOfTexts(WAY_CAUSES, 'Why it is out of service')),
  since: nullable(isoTime('When it went out of service')),
  until: nullable(isoTime('When it may be tried again')),
  requests: count('Requests since the process started; for media, submissions of tasks of the last 15 minutes'),
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
  description:
    'One row for each model and key of an upstream: for text as seen by the process that answers, for media by all workers.',
  answers: { 200: dataOf(arrayOf(UpstreamSchema), 'The upstreams') },
  handle: async (_call, { upstreams }) => ({
    data: [...upstreams.list().map(presentWay), ...(await upstreams.listMedia()).map(presentMediaWay)],
  }),
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

interface UpstreamObject extends Omit<ReturnType<typeof presentWay>, 'kind' | 'format' | 'cause'> {
  readonly kind: 'text' | 'media';
  readonly format?: WayState['format'];
  readonly protocol?: string | null;
  readonly cause: WayState['cause'] | MediaWayState['cause'];
}

function presentMediaWay({ protocol, ...way }: MediaWayState): UpstreamObject {
  return { name: way.name, kind: 'media', protocol, ...presentHealth(way), cause: way.cause };
}

function presentWay({ format, ...way }: WayState) {
  return { name: way.name, kind: 'text' as const, format, ...presentHealth(way), cause: way.cause };
}

function presentHealth({
  sinceMs,
  untilMs,
  ...way
}: Omit<WayState, 'format' | 'cause' | 'key'> & { key: string | null }) {
  return {
    model: way.model,
    key: way.key,
    state: way.state,
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

/** Upstreams: their health, taking them out of service and putting them back. */
import type { UpstreamOverride } from '../../../db/queries/upstream-overrides.ts';
import type { Authorship } from '../../../db/queries/operator-actions.ts';
import { arrayOf, nullable, text } from '../../../domain/json-schema.ts';
import * as field from '../../../domain/resource/field.ts';
import { resource } from '../../../domain/resource/resource.ts';
import { UPSTREAM_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { CIRCUIT_CAUSES, type TextCircuitState } from '../../../providers/text/circuit-state.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody, optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { authorshipOf } from '../../services/administrator.ts';
import type { MediaCircuitState } from '../../services/media-ways.ts';
import { overrideUpstream } from '../../services/override-upstream.ts';
import type { ApiServices } from '../../services/services.ts';
import { optionalReasonSchema, restUpstreamSchema } from './schema.ts';

/** A time of this process's clock. */
const momentOf = (atMs: number | null): Date | null => (atMs === null ? null : new Date(atMs));

export const UPSTREAM = resource<TextCircuitState | MediaCircuitState>('Upstream', {
  name: field.text('name', 'The name that catalogue routes use'),
  kind: field.oneOf(['text', 'media'])((way) => ('format' in way ? 'text' : 'media')),
  format: field
    .oneOf(UPSTREAM_FORMAT_NAMES)
    .orAbsent((way) => ('format' in way ? way.format : undefined), 'Its wire format; for text'),
  protocol: field
    .json(nullable(text('The vendor’s API; for media')))
    .orAbsent((way) => ('protocol' in way ? way.protocol : undefined)),
  model: field.text('model', 'Its name for the model'),
  key: field.text.orNull('key', 'The last four characters of the key'),
  state: field.oneOf(['ok', 'resting', 'probing'])(
    'state',
    '`probing`: its pause is over, and one request tests whether it works again',
  ),
  cause: field.oneOf(CIRCUIT_CAUSES).orNull('cause', 'Why it is out of service'),
  since: field.isoTime.orNull(({ sinceMs }) => momentOf(sinceMs), 'When it went out of service'),
  until: field.isoTime.orNull(({ untilMs }) => momentOf(untilMs), 'When it may be tried again'),
  requests: field.count(
    'requests',
    'Requests since the process started; for media, submissions of tasks of the last 15 minutes',
  ),
  failures: field.count('failures', 'How many of them the upstream failed'),
});

const UPSTREAM_ORDER = resource<UpstreamOverride>('UpstreamOrder', {
  object: field.constant('upstream_order'),
  upstream: field.text('upstream', 'The name of the upstream'),
  kind: field.oneOf(['rest', 'resume'])(({ until }) => (until === null ? 'resume' : 'rest')),
  until: field.isoTime.orNull('until', 'When it returns to service'),
  author: field.text('author', 'Who'),
  reason: field.text('reason', 'Why'),
  created_at: field.isoTime('createdAt', 'When the order was given'),
});

export const listUpstreams = endpoint({
  id: 'listUpstreams',
  method: 'get',
  path: '/admin/v1/upstreams',
  access: 'admin-read',
  summary: 'List upstreams with their health',
  description:
    'One row for each model and key of an upstream: for text as seen by the process that answers, for media by all workers.',
  answers: { 200: dataOf(arrayOf(UPSTREAM.schema), 'The upstreams') },
  handle: async (_call, { upstreams }) => ({
    data: [...upstreams.list(), ...(await upstreams.listMedia())].map(UPSTREAM.present),
  }),
});

export const restUpstream = endpoint({
  id: 'restUpstream',
  method: 'post',
  path: '/admin/v1/upstreams/{upstream}/rest',
  access: 'admin',
  summary: 'Take an upstream out of service for a while',
  description:
    'Takes effect in all processes within seconds. Running requests continue. New ones never use it, even if no other upstream is left.',
  body: jsonBody('RestUpstream', restUpstreamSchema),
  answers: { 200: dataOf(UPSTREAM_ORDER.schema, 'Out of service') },
  refusals: ['not_found'],
  handle: ({ params, caller, body }, services) =>
    change(services, params.upstream, body.seconds, authorshipOf(caller, body)),
});

export const resumeUpstream = endpoint({
  id: 'resumeUpstream',
  method: 'post',
  path: '/admin/v1/upstreams/{upstream}/resume',
  access: 'admin',
  summary: 'Put an upstream back into service',
  description: 'Takes effect in all processes within seconds and clears its record of failures.',
  body: optionalJsonBody('ResumeUpstream', optionalReasonSchema),
  answers: { 200: dataOf(UPSTREAM_ORDER.schema, 'Back in service') },
  refusals: ['not_found'],
  handle: ({ params, caller, body }, services) => change(services, params.upstream, null, authorshipOf(caller, body)),
});

async function change(
  services: Pick<ApiServices, 'database' | 'upstreams'>,
  upstream: string,
  restSeconds: number | null,
  why: Authorship,
) {
  return { data: UPSTREAM_ORDER.present(await overrideUpstream(services, { upstream, restSeconds, ...why })) };
}

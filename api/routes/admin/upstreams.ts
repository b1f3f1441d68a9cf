/** Upstreams: listing their health, taking them out of service, and putting them back. */
import type { Authorship } from '../../../db/queries/operator-actions.ts';
import { arrayOf } from '../../../domain/json-schema.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody, optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { authorshipOf } from '../../../services/people/administrator.ts';
import { overrideUpstream } from '../../../services/operations/override-upstream.ts';
import type { ApiServices } from '../../services.ts';
import { restUpstreamSchema, resumeUpstreamSchema } from '../../../services/input/admin.ts';
import { UPSTREAM, UPSTREAM_OVERRIDE } from '../../../services/resources/upstreams.ts';

export const upstreamEndpoints = endpoints('Administration', {
  listUpstreams: endpoint({
    request: 'GET /admin/v1/upstreams',
    access: 'admin-read',
    summary: 'List upstreams with their health',
    description:
      'Lists a row for each model of an upstream and, for text, each of its keys. The figures cover all processes, and are at most a few seconds old.',
    answers: { 200: dataOf(arrayOf(UPSTREAM.schema), 'The upstreams') },
    handle: async (_call, { operations: { upstreams } }) => ({
      data: (await upstreams.list()).map(UPSTREAM.present),
    }),
  }),
  restUpstream: endpoint({
    request: 'POST /admin/v1/upstreams/{upstream}/rest',
    access: 'admin',
    summary: 'Take an upstream, or one of its models, out of service for a while',
    description:
      'Takes effect in all processes within seconds. Running requests continue. New requests never use the upstream, even if no other is left.',
    body: jsonBody('RestUpstream', restUpstreamSchema),
    answers: { 200: dataOf(UPSTREAM_OVERRIDE.schema, 'The order') },
    refusals: ['not_found'],
    handle: ({ params, caller, body }, services) =>
      change(services, params.upstream, { ...body, seconds: body.seconds }, authorshipOf(caller, body)),
  }),
  resumeUpstream: endpoint({
    request: 'POST /admin/v1/upstreams/{upstream}/resume',
    access: 'admin',
    summary: 'Put an upstream, or one of its models, back into service',
    description: 'Takes effect in all processes within seconds, and clears the upstream’s record of failures.',
    body: optionalJsonBody('ResumeUpstream', resumeUpstreamSchema),
    answers: { 200: dataOf(UPSTREAM_OVERRIDE.schema, 'The order') },
    refusals: ['not_found'],
    handle: ({ params, caller, body }, services) =>
      change(services, params.upstream, { ...body, seconds: null }, authorshipOf(caller, body)),
  }),
});

async function change(
  services: Pick<ApiServices, 'database' | 'operations'>,
  upstream: string,
  { model = null, seconds: disabledSeconds }: { readonly model?: string | null; readonly seconds: number | null },
  why: Authorship,
) {
  return {
    data: UPSTREAM_OVERRIDE.present(await overrideUpstream(services, { upstream, model, disabledSeconds, ...why })),
  };
}

/** Capabilities: every model behind three calls. Contract 4.15. */
import { presentError } from '../../../domain/error-envelope.ts';
import { ANY_OBJECT, arrayOf, component, number, object, oneOfTexts, text } from '../../../domain/json-schema.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import type { PresentError } from '../../state.ts';
import { docsOf } from '../../docs-address.ts';
import { inspect, inspectSchema, run, runSchema, search, searchSchema } from './use.ts';

/** Errors of these calls link to their documentation: contract 4.15. */
const withDocs: PresentError = (error, requestId, publicUrl) => ({
  error: { ...presentError(error, requestId).error, docs: `${publicUrl}${docsOf('Capabilities')}` },
});

const HEAD = {
  capability_id: text('The id of the model'),
  kind: oneOfTexts(['video', 'image', 'text']),
  summary: text('A sentence about the model'),
  price: object({ usd: number(), for: text('The example with this price') }),
};
const ANY_SCHEMA = { ...ANY_OBJECT, description: 'A JSON Schema' };

export const capabilityEndpoints = endpoints('Capabilities', {
  searchCapabilities: endpoint({
    request: 'POST /v1/capabilities/search',
    access: 'key',
    isRead: true,
    summary: 'Find models by capability',
    body: jsonBody('SearchCapabilities', searchSchema, {
      video: { value: { query: 'a short clip of a lighthouse', kind: 'video', max_price_usd: 1 } },
    }),
    answers: {
      200: dataOf(
        arrayOf(component('FoundCapability', object({ ...HEAD, score: number('The share of matching words') }))),
        'The matching models that the key can call, best first',
      ),
    },
    presentError: withDocs,
    handle: async ({ body, caller }, services) => ({ data: await search(body, caller, services) }),
  }),
  inspectCapability: endpoint({
    request: 'POST /v1/capabilities/inspect',
    access: 'key',
    isRead: true,
    summary: 'Get the inputs, outputs and prices of a model',
    body: jsonBody('InspectCapability', inspectSchema, { video: { value: { capability_id: 'vidone-3.0' } } }),
    answers: {
      200: dataOf(
        component(
          'Capability',
          object({
            ...HEAD,
            inputs: ANY_SCHEMA,
            outputs: ANY_SCHEMA,
            limits: ANY_OBJECT,
            prices: ANY_OBJECT,
            example: { ...ANY_OBJECT, description: 'A working body of `run`' },
          }),
        ),
        'Inputs and outputs as JSON Schema, limits, prices and an example',
      ),
    },
    refusals: ['not_found'],
    presentError: withDocs,
    handle: async ({ body, caller }, services) => ({ data: await inspect(body, caller, services) }),
  }),
  runCapability: endpoint({
    request: 'POST /v1/capabilities/run',
    access: 'key',
    summary: 'Run a model',
    description:
      'A video or image becomes a task. Text is answered at once. With an idempotency key, as header or in the body, a repeated call returns the same task, and generates text again.',
    body: jsonBody('RunCapability', runSchema, {
      video: { value: { capability_id: 'vidone-3.0', inputs: { prompt: 'A lighthouse at dusk' }, wait_seconds: 60 } },
    }),
    answers: { 200: dataOf(ANY_OBJECT, 'The task, or the text. `inspect` describes both') },
    refusals: ['insufficient_credits', 'not_found', 'idempotency_conflict', 'processing_unavailable'],
    presentError: withDocs,
    handle: async ({ body, caller, context }, services) => ({
      data: await run({ caller, context, run: body }, services),
    }),
  }),
});

/** The three calls as tools of the Model Context Protocol, over streamable HTTP without sessions. Contract 4.15. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type Joi from 'joi';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { badRequest, toServiceError } from '../../../domain/errors.ts';
import { isObject } from '../../../domain/json.ts';
import { ANY_OBJECT } from '../../../domain/json-schema.ts';
import { BODIES } from '../../../domain/policy.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { readJsonBody } from '../../middlewares/json-body.ts';
import { toJsonSchema } from '../../openapi/joi-schema.ts';
import type { ApiServices } from '../../services.ts';
import type { Context } from '../../state.ts';
import { createValidator } from '../../../services/input/validation.ts';
import { inspect, inspectSchema, run, runSchema, search, searchSchema } from './use.ts';

interface ToolCall {
  readonly caller: Caller;
  readonly context: Context;
  readonly services: ApiServices;
}

interface Tool {
  readonly description: string;
  readonly inputSchema: { readonly type: 'object' };
  readonly call: (given: unknown, call: ToolCall) => unknown;
}

function tool<Arguments>(
  description: string,
  schema: Joi.ObjectSchema<Arguments>,
  call: (given: Arguments, call: ToolCall) => unknown,
): Tool {
  const validate = createValidator(schema);
  return {
    description,
    inputSchema: { ...toJsonSchema(schema), type: 'object' },
    call: (given, request) => call(validate(given), request),
  };
}

/** Clients give up after a minute. */
const MAX_WAIT_SECONDS = 50;

const TOOLS: Readonly<Record<string, Tool>> = {
  search: tool(
    'Finds models that create videos, images or text, with a summary and a price.',
    searchSchema,
    (given, { caller, services }) => search(given, caller, services),
  ),
  inspect: tool(
    'Describes a model: inputs and outputs as JSON Schema, prices, and a working example.',
    inspectSchema,
    (given, { caller, services }) => inspect(given, caller, services),
  ),
  run: tool(
    'Runs a model. Costs money. Set wait_seconds to get the finished video or image, and an idempotency_key: the same call again then ' +
      `waits for the same task, at most ${MAX_WAIT_SECONDS} seconds each time.`,
    runSchema,
    (given, { caller, context, services }) => {
      const wait_seconds = Math.min(given.wait_seconds ?? 0, MAX_WAIT_SECONDS);
      return run({ caller, context, run: { ...given, wait_seconds } }, services);
    },
  ),
};

function refuse(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true };
}

/** A result, as text and as an object: a list is the `data` of one, as over REST. */
function answer(result: unknown) {
  const isEmpty = Array.isArray(result) && result.length === 0;
  const structuredContent = isObject(result) ? { ...result } : { data: result };
  return {
    content: [{ type: 'text' as const, text: isEmpty ? NO_HIT : JSON.stringify(result) }],
    structuredContent,
  };
}

const NO_HIT =
  'No model matches. The search compares the words of the query with the ids, families, kinds and summaries of the models that this API ' +
  'key can call, within max_price_usd. Search for words such as "video", "picture" or "text", or without a query to list models.';

function createServer(call: ToolCall): Server {
  const server = new Server({ name: 'genway', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(TOOLS).map(([name, { description, inputSchema }]) => ({ name, description, inputSchema })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const called = Object.hasOwn(TOOLS, params.name) ? TOOLS[params.name] : undefined;
    if (called === undefined) return refuse(`There is no tool "${params.name}".`);
    try {
      return answer(await called.call(params.arguments ?? {}, call));
    } catch (error) {
      const { code, message } = toServiceError(error);
      return refuse(`${code}: ${message}`);
    }
  });
  return server;
}

export const mcpEndpoints = endpoints('Capabilities', {
  serveMcp: endpoint({
    request: 'POST /mcp',
    access: 'key',
    summary: 'Use the capabilities as Model Context Protocol tools',
    description: 'Streamable HTTP without sessions. Each request contains one message.',
    body: {
      description: { required: true, content: json({ ...ANY_OBJECT, description: 'A JSON-RPC message' }) },
      read: async (request) => (await readJsonBody(request, BODIES.common)).value,
    },
    answers: {
      200: { description: 'A JSON-RPC message', content: json(ANY_OBJECT) },
      202: { description: 'No body' },
      406: { description: 'The client does not accept JSON and `text/event-stream`', content: json(ANY_OBJECT) },
    },
    refusals: ['bad_request'],
    handle: async ({ caller, context, body }, services) => {
      // The request limit would count a batch of messages as one call.
      if (Array.isArray(body)) throw badRequest('The body must be one message: send each in a request of its own');
      const server = createServer({ caller, context, services });
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
      context.res.once('close', () => void server.close());
      await server.connect(transport);
      context.respond = false;
      await transport.handleRequest(context.req, context.res, body);
    },
  }),
});

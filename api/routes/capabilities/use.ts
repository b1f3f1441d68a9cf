/** The three calls with which an agent finds a model, learns how to use it, and runs it, over REST and MCP alike. */
import Joi from 'joi';
import { allModels, hasFormat } from '../../../catalogue/types.ts';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { assertAllowedModel, isAllowedModel } from '../../../domain/api-key.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import { matchShare } from '../../../domain/match-words.ts';
import { IDEMPOTENCY } from '../../../domain/policy.ts';
import { toUsdNumber } from '../../../domain/money.ts';
import { TASK } from '../../../domain/task-object.ts';
import { answerChat } from '../../../services/text/chat.ts';
import { generateOnce } from '../../../services/tasks/idempotency.ts';
import type { ApiServices } from '../../services.ts';
import { withPrices } from '../../../services/money/customer-prices.ts';
import { findUnavailableReason } from '../../../services/operations/unavailable-model.ts';
import type { Context } from '../../state.ts';
import { createValidator, freeText } from '../../../services/input/validation.ts';
import { EXAMPLE_PICTURE_PATH } from '../../docs-address.ts';
import { presentModel } from '../models/present.ts';
import { taskOfRequest, waitUntilFinal } from '../tasks/task-of-request.ts';
import { type Capability, describeCapability, type Model } from './describe.ts';

const MAX_RESULTS = 20;
const MAX_WAIT_SECONDS = 90;

export interface Search {
  readonly query?: string;
  readonly kind?: Capability['kind'];
  readonly max_price_usd?: number;
  readonly limit?: number;
}

export const searchSchema = Joi.object<Search>({
  query: Joi.string().max(1_000).allow('').description('The task in your own words'),
  kind: Joi.valid('video', 'image', 'text').description('Filters by kind'),
  max_price_usd: Joi.number().min(0).description('The highest price of the model’s example, in USD'),
  limit: Joi.number().integer().min(1).max(MAX_RESULTS).description('The maximum of results. By default, 5'),
});

/** Finds the models that match and that the key can call: best first, and the cheapest first among equals. */
export async function search(
  { query = '', kind, max_price_usd: maxUsd, limit = 5 }: Search,
  caller: Caller,
  services: ApiServices,
) {
  const prices = await services.money.findPrices(caller.account, services.clock.nowMs());
  const found = capabilitiesIn(services)
    .filter((model) => findUnavailableReason(model, caller, services.operations) === null)
    .map((model) => withPrices(model, prices))
    .map((model) => ({ model, capability: describe(model, services) }))
    .filter(({ capability }) => kind === undefined || capability.kind === kind)
    .map((entry) => ({ ...entry, score: scoreOf(query, entry) }))
    .filter(({ score, capability }) => score > 0 && (maxUsd === undefined || toUsdNumber(capability.price) <= maxUsd))
    .toSorted((a, b) => b.score - a.score || Number(a.capability.price - b.capability.price));
  return found.slice(0, limit).map(({ model, capability, score }) => ({ ...headOf(model, capability), score }));
}

/** Omits models of embeddings, ranking, voice and realtime sessions, which have no answer in words. */
function capabilitiesIn({ catalogue }: ApiServices): readonly Model[] {
  return allModels(catalogue).filter((model) => 'kind' in model || hasFormat(model, 'chat-completions'));
}

function describe(model: Model, { publicUrl }: ApiServices): Capability {
  return describeCapability(model, publicUrl + EXAMPLE_PICTURE_PATH);
}

function scoreOf(query: string, { model, capability }: { model: Model; capability: Capability }): number {
  const family = 'family' in model ? model.family : '';
  return matchShare(query, `${model.id} ${family} ${capability.kind} ${capability.summary} ${capability.synonyms}`);
}

function headOf({ id }: Model, { kind, summary, price, priceOf }: Capability) {
  return { capability_id: id, kind, summary, price: { usd: toUsdNumber(price), for: priceOf } };
}

export interface Inspect {
  readonly capability_id: string;
}

const capabilityId = Joi.string().max(200).required().description('The id of a model, from a search');
export const inspectSchema = Joi.object<Inspect>({ capability_id: capabilityId });

/** Describes how to run a model that the key can call. @throws ServiceError `not_found` */
export async function inspect({ capability_id: id }: Inspect, caller: Caller, services: ApiServices) {
  const prices = await services.money.findPrices(caller.account, services.clock.nowMs());
  const known = modelOf(id, services);
  if (!isAllowedModel(caller.key, id)) throw unknownCapability(id);
  const model = withPrices(known, prices);
  const capability = describe(model, services);
  const presented: JsonObject = { ...presentModel(model, services.catalogue) };
  return {
    ...headOf(model, capability),
    inputs: capability.inputs,
    outputs: capability.outputs,
    limits: presented['limits'],
    prices: presented['prices'],
    example: { capability_id: id, inputs: capability.example },
  };
}

function modelOf(id: string, services: ApiServices): Model {
  const model = capabilitiesIn(services).find((one) => one.id === id);
  if (model === undefined) throw unknownCapability(id);
  return model;
}

function unknownCapability(id: string): ServiceError {
  return new ServiceError(
    'not_found',
    `There is no capability "${id.slice(0, 100)}". POST /v1/capabilities/search finds capabilities.`,
  );
}

export interface Run {
  readonly capability_id: string;
  readonly inputs: JsonObject;
  readonly wait_seconds?: number;
  readonly idempotency_key?: string;
}

export const runSchema = Joi.object<Run>({
  capability_id: capabilityId,
  inputs: Joi.object().unknown().default({}).description('The inputs. `inspect` describes them'),
  wait_seconds: Joi.number()
    .min(0)
    .max(MAX_WAIT_SECONDS)
    .description('The longest wait for a task, in seconds. By default, 0. Text is always complete'),
  idempotency_key: freeText({ min: 1, max: IDEMPOTENCY.maxKeyLength }).description(
    'Replaces the header. A repeated call with the same key returns the task of the first call, or its text while the account’s responses are stored',
  ),
});

interface RunCall {
  readonly caller: Caller;
  readonly context: Context;
  readonly run: Run;
}

/** Runs a model: a task of media, or an answer in text. @throws ServiceError for every reason not to */
export async function run(
  { caller, context, run: { capability_id: id, inputs, wait_seconds = 0, idempotency_key } }: RunCall,
  services: ApiServices,
) {
  const model = modelOf(id, services);
  assertAllowedModel(caller.key, id);
  const order = { ...inputs, model: id };
  if (!('kind' in model)) {
    const call = { caller, context, body: order, key: idempotency_key };
    return generateOnce(call, services, () => runText({ caller, context, id, inputs: validateText(inputs) }, services));
  }
  const parse = () =>
    model.kind === 'video' ? services.tasks.parseVideoRequest(order) : services.tasks.parseImageRequest(order);
  const checkLinks = model.kind === 'image' ? services.tasks.checkImageLinks : undefined;
  const taskRequest = { caller, context, body: order, parse, key: idempotency_key };
  const created = await taskOfRequest(taskRequest, services, checkLinks);
  const wait = { untilMs: performance.now() + wait_seconds * 1_000, socket: context.req.socket };
  const task = await waitUntilFinal(created, wait, services.tasks);
  return task === null ? created.presented : TASK.present(task);
}

interface TextInputs {
  readonly prompt: string;
  readonly system?: string;
  readonly max_tokens?: number;
  readonly schema?: JsonObject;
}

const validateText = createValidator(
  Joi.object<TextInputs>({
    prompt: Joi.string().required(),
    system: Joi.string().allow(''),
    max_tokens: Joi.number().integer().min(1),
    schema: Joi.object().unknown(),
  }),
);

async function runText(
  { caller, context, id, inputs }: { caller: Caller; context: Context; id: string; inputs: TextInputs },
  services: ApiServices,
) {
  const { prompt, system, max_tokens, schema } = inputs;
  const body = {
    model: id,
    messages: [
      ...(system === undefined || system === '' ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: prompt },
    ],
    ...(max_tokens !== undefined && { max_tokens }),
    ...(schema !== undefined && {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
    }),
  };
  const completion: unknown = JSON.parse(await answerChat(services, { caller, context, body }));
  const { choices, usage } = objectOf(completion);
  const [choice] = listOf(choices);
  const { message, finish_reason } = objectOf(choice);
  return { text: isObject(message) ? message['content'] : '', finish_reason, usage };
}

/** Admits a text request: all steps before the call of the model. Contract 4.8, 5 and 8. */
import type { TextModel } from '../../catalogue/types.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import type { TextCharge, TextHold } from '../../db/text-money/billing.ts';
import { BODIES } from '../../domain/policy.ts';
import type { JsonObject } from '../../domain/json.ts';
import { namedModel } from '../../domain/named-model.ts';
import type { TextRequest } from '../../text/canonical.ts';
import { readObject } from '../../text/read.ts';
import { maxSpeechSeconds } from '../../text/voice/speech.ts';
import { maxAudioTokens, maxSecondsOf, secondsToHold } from '../../text/voice/transcription.ts';
import { hasCacheMarks } from '../../text/turns.ts';
import type { SingleFormat, ParseContext, WireFormat } from '../../text/wire-format.ts';
import { withBatchPrices, withPrices } from '../money/customer-prices.ts';
import { boundInput, maxSearches } from './bound-input.ts';
import { checkEarly, isLarge } from './check-early.ts';
import { adoptedBody, chooseModel, compatibilityOf } from './choose-model.ts';
import { type ClientExchange, countNow, type ReceiveBody } from './client-exchange.ts';
import { endUserOf } from './end-user.ts';
import { estimateAudioTokens, inputTokenEstimate } from './estimate-tokens.ts';
import { maxCallCount, type ReadRequest } from './exchange.ts';
import { planWebSearch } from './plan-web-search.ts';
import type { TextServices } from './services.ts';
import type { StoreResponse } from './store-answer.ts';
import { mayRefer, storedMinutesOf } from './stored-responses.ts';

/** A request to a text endpoint. */
export interface IncomingTextRequest {
  readonly context: ClientExchange;
  readonly caller: Caller;
  readonly format: WireFormat | SingleFormat;
  /** The parts of the request that the path contains, if any. */
  readonly parseContext: ParseContext;
  /** Whether a stream is sent as items of a JSON array instead of server-sent events. */
  readonly streamsArray: boolean;
  /** The batch that the request belongs to. */
  readonly batchId?: string;
  /** The body, or the function that reads it once the payer is known. */
  readonly body: JsonObject | ReceiveBody;
}

/** A request that has passed every check. */
export interface AdmittedCall extends Pick<IncomingTextRequest, 'context' | 'caller' | 'format' | 'streamsArray'> {
  readonly requestId: string;
  /** By the database's clock, in milliseconds since 1970; determines the price. */
  readonly startedAtMs: number;
  /** When the request arrived, by `performance.now()`; measures durations. */
  readonly timedFromMs: number;
  readonly read: ReadRequest;
  readonly model: TextModel;
  readonly hold: TextHold;
  /** The most input tokens of a call, for which the hold pays. */
  readonly maxInputTokens: number;
  /** Whether the operator's service searches the web for the request, over some route. */
  readonly needsSearchService: boolean;
  /** Stores the answer; null if it is not to be stored. */
  readonly store: StoreResponse | null;
}

/** @throws ServiceError for every reason not to call the model */
export async function admit(incoming: IncomingTextRequest, services: TextServices): Promise<AdmittedCall> {
  const { context, caller, format, parseContext, streamsArray, batchId = null } = incoming;
  const { requestId, receivedAtMs: timedFromMs } = context.state;
  const startedAtMs = services.clock.nowMs();
  const { body: given } = incoming;
  const sent = typeof given === 'function' ? await receiveBody(given, incoming, services) : given;
  // The request keeps this catalogue even if a new one replaces it.
  const { catalogue } = services;
  const compatibility = compatibilityOf(parseContext.address?.model ?? sent['model'], catalogue);
  const refers = mayRefer(format.name, compatibility);
  const { body, previousId } = refers
    ? await services.responses.complete(sent, caller.account.id)
    : { body: adoptedBody(format, sent, compatibility), previousId: null };
  const parsed = format.client.parseRequest(body, { ...parseContext, compatibility });
  const isStored = refers && sent['store'] !== false && storedMinutesOf(caller.account) > 0;
  const understood = refers ? { ...parsed, echo: { ...parsed.echo, isStored } } : parsed;
  const chosen = chooseModel(format.name, body, understood, caller.key, catalogue);
  const planned = planWebSearch(format, chosen.request, chosen.model, services.search !== null);
  const { model, request, webSearches } = planned;
  services.assertEnabled(model.id);
  const prices = await services.findPrices(caller.account, startedAtMs);
  const endUser = endUserOf(body);
  const budgets = await services.findBudgets(caller.account, { endUser, model: model.id });
  const { uncounted = null } = context.state;
  context.state.uncounted = undefined;
  const input = boundInput(request, body, model);
  const promptTokens = maxPromptTokens(request, input.maxInputTokens, model);
  const maxInputTokens = Math.min(promptTokens + planned.inputTokens, model.maxInputTokens);
  const hold = await services.billing.hold({
    caller,
    model: batchId === null ? withPrices(model, prices) : withBatchPrices(withPrices(model, prices)),
    catalogueVersion: catalogue.version,
    priceList: prices?.id ?? null,
    endUser,
    budgets,
    batchId,
    format: format.name,
    streamed: request.stream,
    requestId,
    uncounted,
    startedAtMs,
    estimateInputTokens: inputTokenEstimate(request),
    estimateAudioInputTokens: () => estimateAudioTokens(request),
    maxInputTokens,
    maxOutputTokens: maxOutputTokensOf(request, model),
    isCachedFor1h: hasCacheMarks(request, '1h'),
    hasAudioInput: request.transcription !== undefined || input.hasAudio,
    hasAudioOutput: request.speech !== undefined || request.audioOutput !== undefined,
    characters: request.speech?.characters ?? 0,
    ...audioSecondsOf(request, model),
    searchUnits: searchUnitsOf(request, model),
    webSearches,
    maxWebSearches: planned.maxWebSearches,
    choiceCount: request.sampling.choiceCount ?? 1,
    callCount: maxCallCount(model, request),
  });
  const read = { format, body, request, model, streamsArray };
  const storing = {
    accountId: caller.account.id,
    previousId,
    body: sent,
    createdAt: new Date(startedAtMs),
    minutes: storedMinutesOf(caller.account),
  };
  const store = isStored ? (response: JsonObject) => services.responses.store(storing, response) : null;
  const call = { context, caller, format, streamsArray, requestId, startedAtMs, timedFromMs };
  return { ...call, read, model, hold, store, maxInputTokens, needsSearchService: planned.needsService };
}

/** The request's own bound. That of voice applies up to the model's limit, and is 0 where tokens have no price. */
function maxOutputTokensOf(
  { sampling, speech, transcription }: TextRequest,
  { outputTokenLimit }: TextModel,
): number | null {
  const { maxOutputTokens = null } = sampling;
  const isVoice = speech !== undefined || transcription !== undefined;
  return !isVoice || maxOutputTokens === null ? maxOutputTokens : Math.min(maxOutputTokens, outputTokenLimit);
}

function maxPromptTokens({ transcription }: TextRequest, tokens: number, model: TextModel): number {
  return transcription === undefined
    ? tokens
    : Math.min(tokens + maxAudioTokens(transcription.audio), model.maxInputTokens);
}

/** The seconds of audio to hold for, and the most to charge for, where seconds have a price. */
function audioSecondsOf(
  { speech, transcription }: TextRequest,
  { pricing }: TextModel,
): Pick<TextCharge, 'audioSeconds' | 'maxAudioSeconds'> {
  if (pricing.rates.audioSecond === 0n) return { audioSeconds: 0 };
  if (speech !== undefined) return { audioSeconds: maxSpeechSeconds(speech) };
  if (transcription === undefined) return { audioSeconds: 0 };
  const { audio } = transcription;
  return { audioSeconds: secondsToHold(audio), maxAudioSeconds: maxSecondsOf(audio) };
}

function searchUnitsOf({ rerank }: TextRequest, { pricing }: TextModel): number {
  return rerank === undefined || pricing.rates.searchUnit === 0n ? 0 : maxSearches(rerank);
}

/** Reads the body. Refuses a large one before parsing it, if its model or account would refuse it later. */
async function receiveBody(
  receive: ReceiveBody,
  { context, caller, format, parseContext }: IncomingTextRequest,
  services: TextServices,
): Promise<JsonObject> {
  const { 'content-length': length } = context.req.headers;
  const announcedBytes = length === undefined ? undefined : Number(length);
  // Prevents a key beyond its limit from sending large bodies, which cost memory and parsing.
  if (isLarge(announcedBytes)) await countNow(context);
  const check = (model: string | null, bytes: number): Promise<void> | null =>
    isLarge(bytes) ? checkEarly(format.name, parseContext.address?.model ?? model, caller, services) : null;
  await check(null, announcedBytes ?? 0);
  const limits = format.name === 'embeddings' || format.name === 'rerank' ? BODIES.embeddings : BODIES.text;
  const { value } = await receive(limits, (sizer, bytes) => check(sizer.model, bytes));
  const body = readObject(value, '');
  context.state.model = namedModel(parseContext.address?.model ?? body['model']);
  return body;
}

/** Calls the model of an admitted request, delivers the answer, and settles the charge in every case. */
import type { Logger } from 'pino';
import type { TextRoute } from '../../catalogue/types.ts';
import { ServiceError, toServiceError } from '../../domain/errors.ts';
import type { Answer } from '../../providers/text/answer.ts';
import { CancelSignal } from '../../providers/text/cancel-signal.ts';
import { type TranscriptionOptions, UNREPORTED_USAGE } from '../../text/canonical.ts';
import type { JoinedChoices } from '../../text/join-choices.ts';
import { describeOverflow, OVERFLOW_CODE } from '../../text/context-overflow.ts';
import { Meter } from '../../text/meter.ts';
import { SearchRounds } from '../../text/search-rounds.ts';
import { UnsuitableAnswerError } from '../../text/structured-output.ts';
import { AnswerTooLongError, SILENT, UpstreamError } from '../../text/upstream-errors.ts';
import { secondsToHold } from '../../text/voice/transcription.ts';
import type { AdmittedCall } from './admit.ts';
import { affinityOf } from './affinity.ts';
import type { ClientExchange } from './client-exchange.ts';
import type { TextOutcome } from '../../db/text-money/billing.ts';
import { estimateInputTokens } from './estimate-tokens.ts';
import { ClientGoneError, type DepartedClients, type AbandonReason } from './departed-clients.ts';
import {
  joinedChoices,
  planExchange,
  limitOutputTokens,
  searchesAtUpstream,
  renderContextOf,
  type Exchange,
  type ReadRequest,
} from './exchange.ts';
import { createReply, type DrainAnswer, type Reply } from './reply.ts';
import { MAX_SEARCH_ROUNDS, MAX_SEARCHING_MS, runSearches, TOKENS_PER_ROUND } from './run-searches.ts';
import type { TextServices } from './services.ts';
import { storingAnswer } from './store-answer.ts';

/** The progress of a call. */
interface Progress {
  /** Measures the first call. */
  meter: Meter;
  /** Measures the further calls of a request that takes several calls, in their order. */
  readonly others: Meter[];
  /** All calls of a request that takes several calls; null if it takes one. */
  joined: JoinedChoices | null;
  /** The rounds of an answer whose searches the operator's service runs; null for others. */
  rounds: SearchRounds | null;
  /** Whether the prompt after the first search is held. */
  maySearch: boolean;
  /** The route of the last attempt, if there was one. */
  route: TextRoute | null;
  /** The answer of the last attempt, once its head has arrived. */
  answer: Answer | null;
  /** The attempts that failed after they had used tokens. */
  readonly failed: { readonly route: TextRoute; readonly meter: Meter; readonly choiceCount: number | undefined }[];
  /** Whether the client left before the answer was complete. */
  leftEarly: boolean;
}

/** A request that is complete for its client. */
export interface Delivery {
  /** Resolves when the charge is recorded. */
  readonly recorded: Promise<void>;
}

/**
 * Never throws: errors go to the client, if it is still connected. Does not wait for the charge.
 *
 * @param reply where the answer goes; to the client by default
 */
export async function deliver(
  call: AdmittedCall,
  services: TextServices,
  departedClients: DepartedClients,
  reply: Reply = createReply(call, services.settings),
): Promise<Delivery> {
  const progress: Progress = {
    meter: new Meter(),
    others: [],
    joined: null,
    rounds: null,
    maySearch: false,
    route: null,
    answer: null,
    failed: [],
    leftEarly: false,
  };
  const watch = watchCall(call, services.settings.cutoffMs, departedClients, progress);
  let failure: Error | null = null;
  try {
    await callModel(call, services, progress, watch, reply);
  } catch (error) {
    failure = reasonOf(error, watch.signal, call, progress);
  }
  watch.stop();
  const recorded = call.hold.settle(outcomeOf(call, progress, failure, reply.firstByteAtMs));
  if (watch.isClientGone() || failure instanceof ClientGoneError) reply.giveUp();
  else if (failure === null) reply.finish();
  else reply.fail(explain(failure, call, services.log));
  return { recorded };
}

interface Watch {
  /** Cancelled when the answer should not be read further. */
  readonly signal: CancelSignal;
  /** Cancelled when the client leaves. */
  readonly left: CancelSignal;
  isClientGone(): boolean;
  stop(): void;
}

/** Cancels calls that exceed the cut-off, and calls of disconnected clients when reading on serves nothing. */
function watchCall(
  call: AdmittedCall,
  cutoffMs: number | null,
  departedClients: DepartedClients,
  progress: Progress,
): Watch {
  const { context, caller, read, timedFromMs, model } = call;
  // Watch the socket: a response that waits behind another on its connection gets no event when the connection closes.
  const { socket } = context.req;
  const signal = new CancelSignal();
  const left = new CancelSignal();
  let forget: (() => void) | null = null;
  const end = (ending: AbandonReason): void => signal.cancel(new ClientGoneError(ending));
  const leave = (): void => {
    left.cancel(new ClientGoneError('unfinished'));
    progress.leftEarly = !isComplete(progress);
    if (departedClients.isCutting) end('cut');
    else if (model.free || progress.route === null) end('nothing-due');
    else forget = departedClients.track(caller.account.id, end);
  };
  const cutOff = (): void =>
    signal.cancel(
      new ServiceError(
        'processing_timeout',
        'The answer took too long. Send `stream: true`, or ask for a shorter answer.',
      ),
    );
  const isLimited = cutoffMs !== null && !read.request.stream;
  const timer = isLimited ? setTimeout(cutOff, Math.max(timedFromMs + cutoffMs - performance.now(), 0)) : undefined;
  if (socket.destroyed) leave();
  else socket.once('close', leave);
  return {
    signal,
    left,
    isClientGone: () => left.isCancelled,
    stop: () => {
      socket.off('close', leave);
      forget?.();
      clearTimeout(timer);
    },
  };
}

/** Whether the answers of all calls are complete. */
function isComplete({
  meter,
  others,
  joined,
  rounds,
}: Pick<Progress, 'meter' | 'others' | 'joined' | 'rounds'>): boolean {
  if (rounds !== null) return rounds.isComplete;
  return meter.finished && others.length + 1 === (joined?.count ?? 1) && others.every(({ finished }) => finished);
}

/**
 * Calls the model as often as its route needs for all answers. The first call chooses the route. Once its answer
 * starts, the other calls use the same route.
 *
 * @throws ServiceError when no upstream answers, or one breaks off
 */
async function callModel(
  call: AdmittedCall,
  services: TextServices,
  progress: Progress,
  watch: Watch,
  reply: Reply,
): Promise<void> {
  if (call.needsSearchService) progress.maySearch = await call.hold.holdPrompt(call.maxInputTokens);
  const others: Promise<void>[] = [];
  const started = (): void => {
    if (progress.joined !== null) others.push(callOthers(progress.joined, call, services, progress, watch, reply));
  };
  try {
    await callOnce(call, services, progress, watch, reply, 0, started);
  } catch (error) {
    if (others.length > 0) watch.signal.cancel(errorOf(error));
    throw error;
  } finally {
    if (others.length > 0) await Promise.all(others);
  }
  if (others.length > 0 && watch.signal.reason !== null) throw watch.signal.reason;
  if (progress.rounds !== null) await continueRounds(progress.rounds, call, services, progress, watch, reply);
}

/** Searches as the model asks, and asks the model again, until its answer is complete or its client has left. */
async function continueRounds(
  rounds: SearchRounds,
  ...[call, services, progress, watch, reply]: Parameters<typeof callModel>
): Promise<void> {
  const { hold, requestId, timedFromMs, maxInputTokens, model, read } = call;
  const { webSearch } = read.request;
  const { search, log } = services;
  if (webSearch === undefined || search === null) return;
  let searchesLeft = webSearch.maxCalls ?? 0;
  while (rounds.wanted.length > 0 && !watch.isClientGone()) {
    const { length } = rounds.wanted;
    const signals = [watch.signal, watch.left];
    const send = (pieces: readonly string[]): Promise<void> => reply.send(pieces);
    const count = await runSearches(rounds, { search, log, requestId, webSearch, searchesLeft, signals, send });
    lastMeter(progress).webSearches = count;
    searchesLeft = Math.max(searchesLeft - length, 0);
    if (watch.signal.reason !== null) throw watch.signal.reason;
    const round = progress.others.length + 1;
    const inTime = performance.now() - timedFromMs < MAX_SEARCHING_MS;
    const nextPrompt = Math.min(maxInputTokens + round * TOKENS_PER_ROUND, model.maxInputTokens);
    // The prompt of this round is held already, and that of the next only if the model may search once more.
    rounds.maySearch = round < MAX_SEARCH_ROUNDS && searchesLeft > 0 && inTime && (await hold.holdPrompt(nextPrompt));
    if (watch.isClientGone()) return;
    progress.others.push(new Meter());
    await callOnce(call, services, progress, watch, reply, round);
  }
}

function lastMeter({ meter, others }: Progress): Meter {
  return others.at(-1) ?? meter;
}

/** Calls of a request that run at once beside the first, so that one request does not use all slots of an upstream. */
const MAX_OTHER_CALLS = 4;

/** Makes all calls but the first. When a call fails, no other starts, and the signal is cancelled. Never throws. */
async function callOthers(
  { count }: JoinedChoices,
  ...[call, services, progress, watch, reply]: Parameters<typeof callModel>
): Promise<void> {
  const { others } = progress;
  const callNext = async (): Promise<void> => {
    while (others.length + 1 < count && !watch.isClientGone() && !watch.signal.isCancelled) {
      const choice = others.push(new Meter());
      await callOnce(call, services, progress, watch, reply, choice);
    }
  };
  const cancel = (error: unknown): void => watch.signal.cancel(errorOf(error));
  await Promise.all(Array.from({ length: MAX_OTHER_CALLS }, () => callNext().catch(cancel)));
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : toServiceError(error);
}

/**
 * @param choice the number of the call
 * @param started called when its answer starts
 * @throws ServiceError when no upstream answers, or one breaks off
 */
function callOnce(
  { context: client, caller, model, read, hold, requestId, startedAtMs, store }: AdmittedCall,
  { upstreams, clock }: TextServices,
  progress: Progress,
  watch: Watch,
  reply: Reply,
  choice: number,
  started?: () => void,
): Promise<void> {
  const context = renderContextOf({ read, requestId, startedAtMs }, () => clock.nowMs());
  const bounded = limitOutputTokens(read, hold.maxOutputTokens);
  let readOn: DrainAnswer | null = null;
  return upstreams.call<TextRoute, Exchange>({
    requestId,
    body: read.body,
    routes: choice === 0 || progress.joined === null || progress.route === null ? model.routes : [progress.route],
    account: caller.account.id,
    affinity: affinityOf(caller.account.id, read.body),
    isCached: choice > 0 || read.request.turns.some(({ role }) => role === 'assistant'),
    maxAnswerTokens: read.request.sampling.maxOutputTokens ?? null,
    streamed: read.request.stream,
    signal: watch.signal,
    left: watch.left,
    prepare: (route, apiKey) => {
      keepFailed(progress, choice === 0 ? progress.meter : progress.others[choice - 1]);
      const isRound = choice === 0 || progress.rounds !== null;
      // Tries no further upstream for a client that has disconnected.
      if (isRound && watch.isClientGone()) throw new ClientGoneError('nothing-due');
      if (choice === 0) {
        progress.answer = null;
        progress.joined = joinedChoices(route, read.request);
        progress.rounds = searchRoundsOf(bounded, route, progress.maySearch);
      }
      const { joined, rounds } = progress;
      const asked = rounds === null ? bounded : roundOf(bounded, rounds, progress, choice);
      const meter = new Meter((consumption) => hold.charged({ ...consumption, choiceCount: choicesOf(joined) }));
      const calls = rounds ?? joined;
      const exchange = planExchange(asked, route, apiKey, context, meter, calls && { calls, choice });
      progress.route = route;
      if (choice === 0) progress.meter = meter;
      else progress.others[choice - 1] = meter;
      reportUnused(client, exchange.unusedFields);
      return store === null ? exchange : storingAnswer(exchange, store);
    },
    begin: async (answer, exchange) => {
      progress.answer = answer;
      readOn = await reply.start(answer, exchange);
      started?.();
    },
    readOn: async () => readOn?.(),
  });
}

/** The rounds of an answer over a route whose upstream does not search itself. */
function searchRoundsOf(
  { format, request, model }: ReadRequest,
  route: TextRoute,
  maySearch: boolean,
): SearchRounds | null {
  if (request.webSearch === undefined || !('upstream' in format)) return null;
  return searchesAtUpstream(format, request, route, model) ? null : new SearchRounds(request, maySearch);
}

/** The request of a round, with the output bound that earlier rounds have left. */
function roundOf(read: ReadRequest, rounds: SearchRounds, { meter, others }: Progress, round: number): ReadRequest {
  const { maxOutputTokens } = read.request.sampling;
  const earlier = round === 0 ? [] : [meter, ...others.slice(0, round - 1)];
  const used = earlier.reduce((sum, one) => sum + one.countOutputTokens(), 0);
  const left = maxOutputTokens === undefined ? undefined : Math.max(maxOutputTokens - used, 1);
  return { ...read, request: rounds.nextRequest(rounds.maySearch, left) };
}

/** Records the usage of a failed attempt once. */
function keepFailed({ route, joined, failed }: Progress, meter: Meter | undefined): void {
  if (route === null || !meter?.hasUsed || failed.some((kept) => kept.meter === meter)) return;
  failed.push({ route, meter, choiceCount: choicesOf(joined) });
}

const UNUSED_HEADER = 'x-genway-ignored';
/** Clients refuse longer headers, 16 KB in all with Node. */
const MAX_UNUSED_HEADER_LENGTH = 4_096;

/** Reports the fields without effect on this route in a header, unless the stream has started. */
function reportUnused({ res }: ClientExchange, fields: readonly string[]): void {
  if (res.headersSent) return;
  // Clients may send any names.
  const names = fields
    .join(', ')
    .slice(0, MAX_UNUSED_HEADER_LENGTH)
    .replaceAll(/[^\x20-\x7e]/g, '?');
  if (names !== '') res.setHeader(UNUSED_HEADER, names);
  else res.removeHeader(UNUSED_HEADER);
}

/** The number of answers that each call returns; undefined for all. */
function choicesOf(joined: JoinedChoices | null): number | undefined {
  return joined === null ? undefined : 1;
}

/** The cause of the failure: the reason for the cancellation, if there was one. */
function reasonOf(error: unknown, signal: CancelSignal, call: AdmittedCall, progress: Progress): Error {
  const { read } = call;
  const reason = signal.reason ?? error;
  if (reason instanceof ClientGoneError) {
    return reason.ending === 'unfinished' && isUpstreamSilent(call, progress) ? new UpstreamError(SILENT) : reason;
  }
  return reason instanceof AnswerTooLongError && mayCauseLongAnswer(read)
    ? new OverlongAnswerError()
    : toServiceError(reason);
}

/** Whether the upstream has sent nothing of an answer; keep-alives do not count. */
function isUpstreamSilent({ read }: AdmittedCall, { answer, meter }: Progress): boolean {
  return read.request.stream ? !meter.heard : !meter.finished && answer?.hasContent !== true;
}

/**
 * The answer is too long to deliver because the request asked for too much. The customer pays for the answer, since the
 * upstream has generated it: otherwise the operator would pay for each such answer.
 */
class OverlongAnswerError extends ServiceError {
  constructor() {
    super(
      'bad_request',
      'The answer is too long to deliver, but it is charged. Ask for fewer answers, fewer tokens or no log probabilities, or for audio with `stream: true`.',
    );
  }
}

/** Whether the request may be the cause of an overlong answer: a single answer without extras is never that long. */
function mayCauseLongAnswer({ request, body }: ReadRequest): boolean {
  const { choiceCount = 1 } = request.sampling;
  const included = Array.isArray(body['include']) ? body['include'] : [];
  return (
    choiceCount > 1 ||
    request.audioOutput !== undefined ||
    body['logprobs'] === true ||
    Boolean(body['top_logprobs']) ||
    included.length > 0
  );
}

function outcomeOf(
  { timedFromMs, read }: AdmittedCall,
  progress: Progress,
  failure: Error | null,
  firstByteAtMs: number | null,
): TextOutcome {
  const { meter, others, joined, rounds, route } = progress;
  const choiceCount = choicesOf(joined);
  const ending = endOf(failure, meter, choiceCount);
  const isNamed = route !== null && isAttributed(progress, failure, ending, firstByteAtMs);
  const { status, errorCode } = endingOf(progress, failure);
  // Genway knows the number of the searches that it ran.
  const heldSearches = rounds === null ? read.request.webSearch?.maxCalls : undefined;
  const { transcription } = read.request;
  const counts = countsOf(meter, ending, { heldSearches, transcription });
  // The request's own row does not have the usage of such an answer.
  if (status === 'failed' || !isNamed) for (const failed of [meter, ...others]) keepFailed(progress, failed);
  const outcome = {
    status,
    errorCode,
    ...counts,
    upstream: isNamed ? { provider: route.provider, format: route.format, model: route.model } : null,
    latencyMs: performance.now() - timedFromMs,
    firstByteMs: firstByteAtMs === null ? null : firstByteAtMs - timedFromMs,
    failedAttempts: progress.failed.map((failed) => ({
      upstream: { provider: failed.route.provider, model: failed.route.model },
      ...failed.meter.consumption(failed.meter.finished),
      choiceCount: failed.choiceCount,
    })),
  };
  // A round that was never answered used nothing.
  const made = rounds === null ? others : others.filter((other) => other.hasUsed || other.finished);
  if (joined === null && made.length === 0) return outcome;
  const otherCalls = made.map((other) => ({
    ...countsOf(other, endOf(failure, other, choiceCount), { heldSearches, transcription }),
    choiceCount,
    isWhole: other.finished,
  }));
  return { ...outcome, choiceCount, otherCalls };
}

/** Why the answer to a call was not read to its end, unless it failed. */
function endOf(failure: Error | null, { finished }: Meter, choiceCount: number | undefined): AbandonReason | null {
  const isOneOfSeveral = choiceCount !== undefined;
  if (failure instanceof OverlongAnswerError) return isOneOfSeveral && finished ? null : 'unfinished';
  if (!(failure instanceof ClientGoneError) || finished) return null;
  return failure.ending === 'crowded-out' ? 'unfinished' : failure.ending;
}

/** Whether to attribute the call to an upstream: the upstream failed, or its work is charged. */
function isAttributed(
  { answer }: Progress,
  failure: Error | null,
  ending: AbandonReason | null,
  firstByteAtMs: number | null,
): boolean {
  // If the service cut the answer, it is charged only if delivery had started.
  if (ending === 'cut') return firstByteAtMs !== null;
  return answer !== null || failure instanceof ServiceError || ending === 'unfinished';
}

function endingOf(progress: Progress, failure: Error | null): Pick<TextOutcome, 'status' | 'errorCode'> {
  const { route, leftEarly } = progress;
  if (failure instanceof OverlongAnswerError || failure instanceof UnsuitableAnswerError) {
    return { status: 'disconnected', errorCode: null };
  }
  if (failure instanceof ServiceError) return { status: 'failed', errorCode: failure.code };
  if (leftEarly && route === null) return { status: 'failed', errorCode: null };
  // A client may leave right after the last byte of a complete answer.
  const isWhole = failure === null || isComplete(progress);
  return { status: leftEarly || !isWhole ? 'disconnected' : 'succeeded', errorCode: null };
}

/** More than any request may use: the hold limits the charge. */
const MORE_THAN_ANY_HOLD = Number.MAX_SAFE_INTEGER;

/** People speak about so many tokens. */
const SPOKEN_TOKENS_PER_SECOND = 4;

/** The seconds of a transcript that was not read to its end: those announced, unless its text shows that they were more. */
function secondsHeard({ audio }: TranscriptionOptions, meter: Meter): number {
  return Math.max(secondsToHold(audio), Math.ceil(meter.countSeenTokens() / SPOKEN_TOKENS_PER_SECOND));
}

/** @param known `heldSearches`: the searches that an upstream may have run, as held for */
function countsOf(
  meter: Meter,
  ending: AbandonReason | null,
  {
    heldSearches,
    transcription,
  }: { readonly heldSearches: number | undefined; readonly transcription: TranscriptionOptions | undefined },
): Pick<TextOutcome, 'usage' | 'countedOutputTokens' | 'countedAudioTokens' | 'audioSeconds' | 'searchUnits'> {
  const { searchUnits } = meter;
  const audioSeconds = Math.ceil(meter.audioSeconds);
  const { usage, countedOutputTokens, countedAudioTokens } = meter.consumption(meter.finished);
  // An upstream that has not finished may have generated anything by now, most of it hidden.
  if (ending === 'unfinished') {
    const most = MORE_THAN_ANY_HOLD;
    const seconds = transcription === undefined ? most : secondsHeard(transcription, meter);
    const counted = { countedOutputTokens: most, countedAudioTokens: most, audioSeconds: seconds, searchUnits: most };
    const searched = heldSearches === undefined ? usage : { ...(usage ?? UNREPORTED_USAGE), webSearches: heldSearches };
    return { usage: searched, ...counted };
  }
  if (ending === 'cut') {
    return {
      usage: usage && { ...usage, outputTotal: null, audioOutput: null },
      countedOutputTokens: meter.countSeenTokens(),
      countedAudioTokens,
      audioSeconds,
      searchUnits,
    };
  }
  return { usage, countedOutputTokens, countedAudioTokens, audioSeconds, searchUnits };
}

/** Failures of upstreams are already in the log, one line per attempt. */
function explain(failure: Error, { requestId, model, format, read }: AdmittedCall, log: Logger): ServiceError {
  const shown = toServiceError(failure);
  if (shown instanceof UpstreamError && shown.overflow !== null) {
    const known = { estimateInput: () => estimateInputTokens(read.request), limit: model.contextTokens };
    const formatCode = model.compatibility === 'full' ? OVERFLOW_CODE : undefined;
    return new ServiceError(shown.code, describeOverflow(format.name, shown.overflow, known), { formatCode });
  }
  if (shown.code === 'internal_error') {
    log.error({ request_id: requestId, model: model.id, err: failure }, 'text request failed');
  }
  return shown;
}

/** Calls the model of an admitted request, delivers its answer and settles the bill, whatever happens on the way. */
import type { Logger } from 'pino';
import type { TextRoute } from '../../catalogue/types.ts';
import { ServiceError, toServiceError } from '../../domain/errors.ts';
import { FORMATS } from '../../text/formats.ts';
import { Meter } from '../../text/meter.ts';
import { AnswerTooLongError, SILENT, UpstreamError } from '../../text/upstream-errors.ts';
import type { RenderContext } from '../../text/wire-format.ts';
import type { AdmittedCall } from './admit.ts';
import { affinityOf } from './affinity.ts';
import type { TextOutcome } from '../../db/text-money/billing.ts';
import type { ReportedUsage } from '../../domain/text-price.ts';
import { ClientGoneError, type Departures, type Ending } from './departures.ts';
import { planExchange, withBound, type Exchange, type ReadRequest } from './exchange.ts';
import { createReply, type Reply } from './reply.ts';
import type { TextServices } from './services.ts';

/** How far a call has come. */
interface Progress {
  meter: Meter;
  /** The route over which the model was called last, if it was. */
  route: TextRoute | null;
  /** Whether an upstream has begun to answer. */
  answered: boolean;
  /** Whether the client left before the answer was whole. */
  leftEarly: boolean;
}

/** Never throws: what goes wrong is told to the client, where there still is one. */
export async function deliver(call: AdmittedCall, services: TextServices, departures: Departures): Promise<void> {
  const progress: Progress = { meter: new Meter(), route: null, answered: false, leftEarly: false };
  const watch = watchCall(call, services.settings.cutoffMs, departures, progress);
  const reply = createReply(call, services.settings);
  let failure: Error | null = null;
  try {
    await callModel(call, services, progress, watch, reply);
  } catch (error) {
    failure = reasonOf(error, watch.signal, call, progress);
  } finally {
    watch.stop();
    await call.hold.settle(outcomeOf(call, progress, failure, reply.firstByteAtMs));
  }
  if (watch.isClientGone() || failure instanceof ClientGoneError) return reply.giveUp();
  if (failure === null) return reply.finish();
  reply.fail(explain(failure, call, services.log));
}

interface Watch {
  /** Aborted when the answer is not to be read any further. */
  readonly signal: AbortSignal;
  /** Aborted when the client leaves. */
  readonly left: AbortSignal;
  isClientGone(): boolean;
  stop(): void;
}

/** Ends what takes too long, and what clients left behind that nobody pays for or waits for any more. */
function watchCall(call: AdmittedCall, cutoffMs: number | null, departures: Departures, progress: Progress): Watch {
  const { context, caller, read, timedFromMs, model } = call;
  // Not the response: one that waits behind another on its connection is not told that it is closed.
  const { socket } = context.req;
  const controller = new AbortController();
  const left = new AbortController();
  let forget: (() => void) | null = null;
  const end = (ending: Ending): void => controller.abort(new ClientGoneError(ending));
  const leave = (): void => {
    left.abort();
    progress.leftEarly = !progress.meter.finished;
    if (departures.isCutting) end('cut');
    else if (model.free || progress.route === null) end('nothing-due');
    else forget = departures.begin(caller.account.id, end);
  };
  const cutOff = (): void =>
    controller.abort(
      new ServiceError('processing_timeout', 'The answer took too long. Stream it, or ask for a shorter one.'),
    );
  const isLimited = cutoffMs !== null && !read.request.stream;
  const timer = isLimited ? setTimeout(cutOff, Math.max(timedFromMs + cutoffMs - performance.now(), 0)) : undefined;
  if (socket.destroyed) leave();
  else socket.once('close', leave);
  return {
    signal: controller.signal,
    left: left.signal,
    isClientGone: () => left.signal.aborted,
    stop: () => {
      socket.off('close', leave);
      forget?.();
      clearTimeout(timer);
    },
  };
}

/** @throws ServiceError when no upstream answers, or one breaks off */
function callModel(
  { caller, model, read, hold, requestId, startedAtMs }: AdmittedCall,
  { upstreams, clock }: TextServices,
  progress: Progress,
  watch: Watch,
  reply: Reply,
): Promise<void> {
  const context: RenderContext = {
    request: read.request,
    responseId: requestId.slice(requestId.indexOf('_') + 1),
    createdAtSeconds: Math.floor(startedAtMs / 1000),
    nowSeconds: () => Math.floor(clock.nowMs() / 1000),
  };
  const bounded = withBound(read, hold.maxOutputTokens);
  return upstreams.call<TextRoute, Exchange>({
    requestId,
    routes: model.routes,
    affinity: affinityOf(caller.account.id, read.body),
    streamed: read.request.stream,
    signal: watch.signal,
    left: watch.left,
    prepare: (route, apiKey) => {
      progress.answered = false;
      // Nobody is tried after an upstream that failed the request of a client that is gone.
      if (watch.isClientGone()) throw new ClientGoneError('nothing-due');
      const meter = new Meter();
      const exchange = planExchange(bounded, route, apiKey, context, meter);
      Object.assign(progress, { route, meter });
      return exchange;
    },
    begin: (answer, exchange) => {
      progress.answered = true;
      return reply.begin(answer, exchange);
    },
    readOn: (answer) => reply.readOn(answer),
  });
}

/** Why it failed: the reason of the abort, if there was one, whatever came of it. */
function reasonOf(error: unknown, signal: AbortSignal, call: AdmittedCall, progress: Progress): Error {
  const { read } = call;
  const reason: unknown = signal.aborted ? signal.reason : error;
  if (reason instanceof ClientGoneError) {
    return reason.ending === 'unfinished' && isUpstreamSilent(call, progress) ? new UpstreamError(SILENT) : reason;
  }
  return reason instanceof AnswerTooLongError && asksForLongAnswer(read)
    ? new AskedTooMuchError()
    : toServiceError(reason);
}

/**
 * Whether an upstream has made nothing of a stream, of which it said nothing in all the time that was waited for. A model that
 * may think first could have done so in secret, unless its upstream would have announced the answer before.
 */
function isUpstreamSilent({ read, model }: AdmittedCall, { route, meter }: Progress): boolean {
  const announces = route !== null && FORMATS[route.format].upstream.announcesStreams === true;
  return read.request.stream && !meter.heard && (announces || !model.reasoning);
}

/**
 * More was asked for than can be told. It is charged, because the upstream has made all of it: otherwise whoever asks for such
 * an answer again and again would have the operator pay for them.
 */
class AskedTooMuchError extends ServiceError {
  constructor() {
    super(
      'bad_request',
      'The answer is too long to be told, and is charged: ask for fewer answers, fewer tokens or no log probabilities.',
    );
  }
}

/** Whether an answer that is too long may be the doing of its request: one answer without anything beside it is not so long. */
function asksForLongAnswer({ request, body }: ReadRequest): boolean {
  const { choiceCount = 1 } = request.sampling;
  const included = Array.isArray(body['include']) ? body['include'] : [];
  return choiceCount > 1 || body['logprobs'] === true || Boolean(body['top_logprobs']) || included.length > 0;
}

function outcomeOf(
  { timedFromMs }: AdmittedCall,
  progress: Progress,
  failure: Error | null,
  firstByteAtMs: number | null,
): TextOutcome {
  const { meter, route } = progress;
  const ending = endOf(failure, meter);
  const isNamed = route !== null && isAttributed(progress, failure, ending, firstByteAtMs);
  return {
    ...endingOf(progress, failure),
    ...countsOf(meter, ending),
    upstream: isNamed ? { provider: route.provider, format: route.format, model: route.model } : null,
    latencyMs: performance.now() - timedFromMs,
    firstByteMs: firstByteAtMs === null ? null : firstByteAtMs - timedFromMs,
  };
}

/** Why the answer was not read to its end, unless it failed. */
function endOf(failure: Error | null, { finished }: Meter): Ending | null {
  if (failure instanceof AskedTooMuchError) return 'unfinished';
  if (!(failure instanceof ClientGoneError) || finished) return null;
  return failure.ending === 'crowded-out' ? 'unfinished' : failure.ending;
}

/** Whether an upstream is to be named: one that failed even when it gave no answer, and any whose work is charged. */
function isAttributed(
  { answered }: Progress,
  failure: Error | null,
  ending: Ending | null,
  firstByteAtMs: number | null,
): boolean {
  // Of an answer that the service cut nothing is due before it was delivered.
  if (ending === 'cut') return firstByteAtMs !== null;
  return answered || failure instanceof ServiceError || ending === 'unfinished';
}

function endingOf(
  { meter, route, leftEarly }: Progress,
  failure: Error | null,
): Pick<TextOutcome, 'status' | 'errorCode'> {
  if (failure instanceof AskedTooMuchError) return { status: 'disconnected', errorCode: null };
  if (failure instanceof ServiceError) return { status: 'failed', errorCode: failure.code };
  if (leftEarly && route === null) return { status: 'failed', errorCode: null };
  // A client may leave with the last byte of a whole answer.
  const isWhole = failure === null || meter.finished;
  return { status: leftEarly || !isWhole ? 'disconnected' : 'succeeded', errorCode: null };
}

/** More than any request may have: what is held for bounds it. */
const ALL_THAT_IS_HELD_FOR = Number.MAX_SAFE_INTEGER;

function countsOf(meter: Meter, ending: Ending | null): Pick<TextOutcome, 'usage' | 'countedOutputTokens'> {
  const usage = usageOf(meter);
  // Nobody knows what an upstream has made by now that has not come to its end; what is hidden may be most of it.
  if (ending === 'unfinished') return { usage, countedOutputTokens: ALL_THAT_IS_HELD_FOR };
  if (ending === 'cut') {
    return { usage: usage && { ...usage, outputTotal: null }, countedOutputTokens: meter.countSeenTokens() };
  }
  const reported = meter.finished ? usage?.outputTotal : null;
  return { usage, countedOutputTokens: reported ?? meter.countOutputTokens() };
}

/**
 * What was reported, without an output count that more output has overtaken since. No prompt has 0 tokens and no text either:
 * some upstreams fill the fields with it that they do not count.
 */
function usageOf({ usage, hasUnreportedOutput, finished, outputLength }: Meter): ReportedUsage | null {
  const isOutputCounted = (finished || !hasUnreportedOutput) && (usage.outputTotal !== 0 || outputLength === 0);
  const outputTotal = isOutputCounted ? usage.outputTotal : null;
  const inputTotal = usage.inputTotal === 0 ? null : usage.inputTotal;
  return inputTotal === null && outputTotal === null ? null : { ...usage, inputTotal, outputTotal };
}

/** What upstreams do wrong is in the log already: a line for each attempt. */
function explain(failure: Error, { requestId, model }: AdmittedCall, log: Logger): ServiceError {
  const shown = toServiceError(failure);
  if (shown.code === 'internal_error') {
    log.error({ request_id: requestId, model: model.id, err: failure }, 'text request failed');
  }
  return shown;
}

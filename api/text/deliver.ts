/** Calls the model of an admitted request, delivers its answer and settles the bill, whatever happens on the way. */
import type { Logger } from 'pino';
import type { TextRoute } from '../../catalogue/types.ts';
import { ServiceError } from '../../domain/errors.ts';
import { codeOf } from '../../providers/text/answer.ts';
import type { Answered } from '../../providers/text/text-upstreams.ts';
import { Meter } from '../../text/meter.ts';
import type { RenderContext } from '../../text/wire-format.ts';
import { toServiceError } from '../middlewares/errors.ts';
import type { AdmittedCall } from './admit.ts';
import type { ReportedUsage, TextOutcome } from './billing.ts';
import { planExchange, withBound, type Exchange } from './exchange.ts';
import { createReply } from './reply.ts';
import type { TextServices } from './services.ts';

/** The client has closed the connection, so there is nobody to tell. */
class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

/** How far a call has come. */
interface Progress {
  meter: Meter;
  /** The route over which the model was called last, if it was. */
  route: TextRoute | null;
  /** Whether an upstream has begun to answer. */
  answered: boolean;
}

/** Never throws: what goes wrong is told to the client, where there still is one. */
export async function deliver(call: AdmittedCall, services: TextServices): Promise<void> {
  const progress: Progress = { meter: new Meter(), route: null, answered: false };
  const watch = watchCall(call, services.settings.cutoffMs);
  const reply = createReply(call, services.settings);
  let failure: Error | null = null;
  try {
    const { answer, prepared } = await callModel(call, services, progress, watch.signal);
    progress.answered = true;
    try {
      await reply.take(answer, prepared);
    } finally {
      answer.discard();
    }
  } catch (error) {
    failure = reasonOf(error, watch.signal);
  } finally {
    watch.stop();
    await call.hold.settle(outcomeOf(call, progress, failure, reply.firstByteAtMs));
  }
  if (failure === null) return reply.finish();
  if (failure instanceof ClientGoneError) return reply.giveUp();
  reply.fail(explain(failure, call, progress, services.log));
}

interface Watch {
  /** Aborted when the client leaves, or when the answer takes too long. */
  readonly signal: AbortSignal;
  stop(): void;
}

function watchCall({ response, read, startedAtMs }: AdmittedCall, cutoffMs: number | null): Watch {
  const controller = new AbortController();
  const leave = (): void => controller.abort(new ClientGoneError());
  const cutOff = (): void =>
    controller.abort(
      new ServiceError('processing_timeout', 'The answer took too long. Stream it, or ask for a shorter one.'),
    );
  const isLimited = cutoffMs !== null && !read.request.stream;
  const timer = isLimited ? setTimeout(cutOff, Math.max(startedAtMs + cutoffMs - Date.now(), 0)) : undefined;
  if (response.destroyed) leave();
  else response.once('close', leave);
  return {
    signal: controller.signal,
    stop: () => {
      response.off('close', leave);
      clearTimeout(timer);
    },
  };
}

/** @throws ServiceError when no upstream answers */
function callModel(
  { model, read, hold, requestId, startedAtMs }: AdmittedCall,
  { upstreams }: TextServices,
  progress: Progress,
  signal: AbortSignal,
): Promise<Answered<Exchange>> {
  const context: RenderContext = {
    request: read.request,
    responseId: requestId.slice(requestId.indexOf('_') + 1),
    createdAtSeconds: Math.floor(startedAtMs / 1000),
    nowSeconds: () => Math.floor(Date.now() / 1000),
  };
  const bounded = withBound(read, hold.maxOutputTokens);
  const prepare = (route: TextRoute, apiKey: string): Exchange => {
    progress.route = route;
    progress.meter = new Meter();
    return planExchange(bounded, route, apiKey, context, progress.meter);
  };
  return upstreams.send(model.routes, prepare, signal);
}

/** Why it failed: the reason of the abort, if there was one, whatever came of it. */
function reasonOf(error: unknown, signal: AbortSignal): Error {
  const reason: unknown = signal.aborted ? signal.reason : error;
  return reason instanceof ClientGoneError ? reason : toServiceError(reason);
}

function outcomeOf(
  { startedAtMs }: AdmittedCall,
  { meter, route, answered }: Progress,
  failure: Error | null,
  firstByteAtMs: number | null,
): TextOutcome {
  // One that failed is named even when it gave no answer.
  const isNamed = route !== null && (answered || failure instanceof ServiceError);
  return {
    ...endingOf(meter, route, failure),
    usage: usageOf(meter),
    countedOutputTokens: countOutputTokens(meter),
    upstream: isNamed ? { provider: route.provider, format: route.format } : null,
    latencyMs: Date.now() - startedAtMs,
    firstByteMs: firstByteAtMs === null ? null : firstByteAtMs - startedAtMs,
  };
}

function endingOf(
  meter: Meter,
  route: TextRoute | null,
  failure: Error | null,
): Pick<TextOutcome, 'status' | 'errorCode'> {
  if (failure instanceof ServiceError) return { status: 'failed', errorCode: failure.code };
  // A client may leave with the last byte of a whole answer, or before the model was even called.
  if (failure === null || meter.finished) return { status: 'succeeded', errorCode: null };
  return { status: route === null ? 'failed' : 'disconnected', errorCode: null };
}

/** What was reported of a whole answer, and a count of any other. */
function countOutputTokens(meter: Meter): number {
  return (meter.finished ? meter.usage.outputTotal : null) ?? meter.countOutputTokens();
}

/** What was reported, without an output count that more output has overtaken since. */
function usageOf({ usage, hasUnreportedOutput, finished }: Meter): ReportedUsage | null {
  const outputTotal = finished || !hasUnreportedOutput ? usage.outputTotal : null;
  return usage.inputTotal === null && outputTotal === null ? null : { ...usage, outputTotal };
}

function explain(failure: Error, { requestId, model }: AdmittedCall, { route }: Progress, log: Logger): ServiceError {
  const shown = toServiceError(failure);
  const about = { request_id: requestId, model: model.id, upstream: route?.provider, code: shown.code };
  if (shown.code === 'internal_error') log.error({ ...about, err: failure }, 'text request failed');
  else if (shown.retryable) log.warn({ ...about, cause: codeOf(shown.cause) }, 'upstream failed');
  return shown;
}

/** Combines two formats: converts a client's request for an upstream of another format, and the answer back. */
import type { JsonObject } from '../domain/json.ts';
import type { StreamEvent, TextRequest } from './canonical.ts';
import { callIdsIn } from './call-ids.ts';
import { collect } from './collect.ts';
import { withFittingSchemas } from './fit-schemas.ts';
import { readEvents, type Frame } from './frames.ts';
import type { JoinedChoice } from './join-choices.ts';
import { limitChoices } from './limit-choices.ts';
import type { Meter } from './meter.ts';
import { normalize } from './normalize.ts';
import { cutAtBound } from './output-bound.ts';
import { markSignatures, signaturesOf, withOwnSignatures } from './signatures.ts';
import { ReadableEvents } from './skip-unreadable.ts';
import { assertNoVendorTools } from './responses/tools.ts';
import { showReasoning } from './reasoning.ts';
import { chain, chainIf, runStage, type Stage } from './stage.ts';
import { planOutput } from './structured-output.ts';
import { cutAtStopSequences } from './stop-sequences.ts';
import { withFittingNames } from './tool-names.ts';
import type { RenderContext, UpstreamOptions, UpstreamHalf, UpstreamRequest, WireFormat } from './wire-format.ts';

/** How the answer to one request is converted: whole or as a stream, whichever the upstream sends and the client wants. */
export interface AnswerConversion {
  /**
   * The client's body for an upstream's complete answer; null while further calls of the request are to come.
   *
   * @throws ServiceError when there is no answer in it
   */
  convertResult(body: unknown, context: RenderContext): JsonObject | null;
  /**
   * The stage from the frames of an upstream's stream to the text of the client's stream. Call it once.
   *
   * @param wrap changes the form of the client's stream
   */
  convertStream(context: RenderContext, wrap?: StageWrapper): Stage<Frame, string>;
  /**
   * The events of the client's stream for the complete answer of an upstream that does not stream.
   *
   * @throws ServiceError when there is no answer in it
   */
  streamResult(body: unknown, context: RenderContext, wrap?: StageWrapper): readonly string[];
  /** The stage from the frames of an upstream's unwanted stream to the client's body, as from `convertResult`. Call it once. */
  collectStream(context: RenderContext): Stage<Frame, JsonObject>;
}

/** How one request is converted. */
export interface Conversion extends AnswerConversion {
  readonly upstreamRequest: UpstreamRequest;
  /** The parts that the client's schemas lose, in the client's names. */
  readonly lostFields: readonly string[];
}

export type StageWrapper = (stage: Stage<StreamEvent, string>) => Stage<StreamEvent, string>;

/** The number of upstream calls for a request for this number of answers. */
export function countCalls(upstream: UpstreamHalf, choiceCount = 1): number {
  return upstream.upstream.isOneAnswerPerCall === true ? choiceCount : 1;
}

/**
 * Plans the conversion of one request.
 *
 * @param meter measures the answer as the upstream gave it
 * @param joined where the request takes several calls, which of them this is; null where it takes one
 * @throws ServiceError `bad_request` when the upstream's format cannot express the request
 */
export function planConversion(
  client: WireFormat,
  upstream: UpstreamHalf,
  request: TextRequest,
  options: UpstreamOptions,
  meter: Meter,
  joined: JoinedChoice | null = null,
): Conversion {
  assertNoVendorTools(request);
  const cuts = stopSequencesToCut(client, upstream, request);
  const signatures = signaturesOf(options.origin);
  const signed = withOwnSignatures(request, signatures);
  const sent = cuts.length === 0 ? signed : withoutStopSequences(signed, cuts);
  const normal = normalized(request, meter, joined);
  const cut = chain(normal, cutAtStopSequences(cuts));
  const bound = boundToCut(upstream, request);
  const charged = chain(chainIf(cut, bound === null ? null : cutAtBound(bound)), meter.chargeStage());
  const output = planOutput(upstream, sent, options);
  const fitting = withFittingSchemas(output.request, upstream.upstream.schemaLimits, client.client.schemaNames);
  const named = withFittingNames(fitting.request, upstream.upstream.toolNames);
  const marked = chain(
    chainIf(chainIf(charged, named.stage), output.stage),
    markSignatures(signatures, client.client.hasCallSignatures === true),
  );
  const recorded = chainIf(marked, joined?.calls.record?.() ?? null);
  const shown = chainIf(recorded, showReasoning(request));
  const between = chainIf(shown, joined && joined.calls.stage(joined.choice));
  return {
    lostFields: fitting.lost,
    upstreamRequest: upstream.upstream.buildRequest(named.request, options),
    ...convertAnswer(client, upstream, named.request, between, meter, joined),
  };
}

/** How the answer to a request that is passed on is converted, in case the upstream ignores whether it should stream. */
export function planUnexpectedAnswer(
  format: WireFormat,
  request: TextRequest,
  { origin }: Pick<UpstreamOptions, 'origin'>,
  meter: Meter,
): AnswerConversion {
  const charged = chain(normalized(request, meter, null), meter.chargeStage());
  const marked = chain(charged, markSignatures(signaturesOf(origin), format.client.hasCallSignatures === true));
  return convertAnswer(format, format, request, marked, meter, null);
}

/**
 * The stage from an upstream's events to legal ones. Measured first: normalizing holds usage back until the end, and a
 * client that leaves does not wait for it.
 */
function normalized(
  { sampling, turns }: TextRequest,
  meter: Meter,
  joined: JoinedChoice | null,
): Stage<StreamEvent, StreamEvent> {
  const kept = chain(meter.stage(), limitChoices(joined === null ? (sampling.choiceCount ?? 1) : 1));
  return chain(kept, normalize(callIdsIn(turns)));
}

/**
 * @param sent the request for the upstream
 * @param between the stage from the upstream's events to the client's
 */
function convertAnswer(
  { client }: WireFormat,
  { upstream }: UpstreamHalf,
  sent: TextRequest,
  between: Stage<StreamEvent, StreamEvent>,
  meter: Meter,
  joined: JoinedChoice | null,
): AnswerConversion {
  const renderWhole = (events: readonly StreamEvent[], context: RenderContext): JsonObject | null => {
    const whole = joined === null ? events : joined.calls.add(events);
    return whole && client.renderResult(collect(whole), context);
  };
  const readStream = (): Stage<Frame, StreamEvent> => {
    const heard = chain(readEvents(), meter.hearingStage());
    return chain(chain(heard, new ReadableEvents(upstream.parseStream(sent), meter)), between);
  };
  const renderStream = (context: RenderContext, wrap: StageWrapper = (stage) => stage): Stage<StreamEvent, string> => {
    const render = (): Stage<StreamEvent, string> => wrap(client.renderStream(context));
    return joined === null ? render() : joined.calls.last(render);
  };
  return {
    convertResult: (body, context) => renderWhole(runStage(upstream.parseResult(body), between), context),
    convertStream: (context, wrap) => chain(readStream(), renderStream(context, wrap)),
    streamResult: (body, context, wrap) =>
      runStage(upstream.parseResult(body), chain(between, renderStream(context, wrap))),
    collectStream: (context) => {
      const stage = readStream();
      const events: StreamEvent[] = [];
      const keep = (event: StreamEvent): void => void events.push(event);
      return {
        push: (frame) => stage.push(frame, keep),
        end: (emit) => {
          stage.end(keep);
          const body = renderWhole(events, context);
          if (body !== null) emit(body);
        },
      };
    },
  };
}

/** The output bound at which the gateway itself cuts, because the upstream is given a larger one; null for none. */
export function boundToCut({ upstream }: UpstreamHalf, { sampling }: TextRequest): number | null {
  const { maxOutputTokens } = sampling;
  return maxOutputTokens !== undefined && maxOutputTokens < (upstream.minOutputTokens ?? 1) ? maxOutputTokens : null;
}

/** The sequences at which the gateway itself cuts. They are not sent upstream, which would hide which one hit. */
export function stopSequencesToCut(
  client: WireFormat,
  upstream: UpstreamHalf,
  request: TextRequest,
): readonly string[] {
  const { stopSequences, canSendStopSequence, maxStopSequences } = upstream.upstream;
  const upstreamDoes =
    stopSequences === 'reported' || (stopSequences === 'unreported' && !client.client.hasStopSequence);
  const sequences = request.sampling.stopSequences ?? [];
  if (!upstreamDoes) return sequences;
  const taken = sequences.filter((sequence) => canSendStopSequence?.(sequence) !== false).slice(0, maxStopSequences);
  return sequences.filter((sequence) => !taken.includes(sequence));
}

function withoutStopSequences(request: TextRequest, cuts: readonly string[]): TextRequest {
  const others = request.sampling.stopSequences?.filter((sequence) => !cuts.includes(sequence)) ?? [];
  return { ...request, sampling: { ...request.sampling, stopSequences: others.length === 0 ? undefined : others } };
}

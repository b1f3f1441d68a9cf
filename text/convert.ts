/** Combines two formats: converts a client's request for an upstream of another format, and the answer back. */
import type { JsonObject } from '../domain/json.ts';
import type { StreamEvent, TextRequest } from './canonical.ts';
import { collect } from './collect.ts';
import { withFittingSchemas } from './fit-schemas.ts';
import { readEvents, type Frame } from './frames.ts';
import type { JoinedCall } from './join-calls.ts';
import { limitChoices } from './limit-choices.ts';
import type { Meter } from './meter.ts';
import { normalize } from './normalize.ts';
import { cutAtBound } from './output-bound.ts';
import { markSignatures, signaturesOf, withOwnSignatures } from './signatures.ts';
import { ReadableEvents } from './skip-unreadable.ts';
import { showReasoning } from './reasoning.ts';
import { chain, chainIf, runStage, type Stage } from './stage.ts';
import { planOutput } from './structured-output.ts';
import { cutAtStopSequences } from './stop-sequences.ts';
import { withFittingNames } from './tool-names.ts';
import type { RenderContext, UpstreamOptions, UpstreamHalf, UpstreamRequest, WireFormat } from './wire-format.ts';

/** How one request is converted. */
export interface Conversion {
  readonly upstreamRequest: UpstreamRequest;
  /** What the client's schemas have lost, in its own names. */
  readonly lostFields: readonly string[];
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
  joined: JoinedCall | null = null,
): Conversion {
  const cuts = stopSequencesToCut(client, upstream, request);
  const signatures = signaturesOf(options.origin);
  const signed = withOwnSignatures(request, signatures);
  const sent = cuts.length === 0 ? signed : withoutStopSequences(signed, cuts);
  // Measured first: normalizing holds usage back until the end, and a client that leaves does not wait for it.
  const kept = chain(meter.stage(), limitChoices(joined === null ? (request.sampling.choiceCount ?? 1) : 1));
  const cut = chain(chain(kept, normalize()), cutAtStopSequences(cuts));
  const bound = boundToCut(upstream, request);
  const charged = chain(chainIf(cut, bound === null ? null : cutAtBound(bound)), meter.chargeStage());
  const output = planOutput(upstream, sent, options);
  const fitting = withFittingSchemas(output.request, upstream.upstream.schemaLimits, client.client.schemaNames);
  const named = withFittingNames(fitting.request, upstream.upstream.toolNames);
  const marked = chain(
    chainIf(chainIf(charged, named.stage), output.stage),
    markSignatures(signatures, client.client.hasCallSignatures === true),
  );
  const shown = chainIf(marked, showReasoning(request));
  const between = chainIf(shown, joined && joined.calls.stage(joined.choice));
  return {
    lostFields: fitting.lost,
    upstreamRequest: upstream.upstream.buildRequest(named.request, options),
    convertResult: (body, context) => {
      const events = runStage(upstream.upstream.parseResult(body), between);
      const whole = joined === null ? events : joined.calls.add(events);
      return whole && client.client.renderResult(collect(whole), context);
    },
    convertStream: (context, wrap = (stage) => stage) => {
      const heard = chain(readEvents(), meter.hearingStage());
      const read = chain(heard, new ReadableEvents(upstream.upstream.parseStream(), meter));
      const render = (): Stage<StreamEvent, string> => wrap(client.client.renderStream(context));
      return chain(chain(read, between), joined === null ? render() : joined.calls.last(render));
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

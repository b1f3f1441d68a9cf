/** What a text request goes through before its model is called: contract 4.8, 5 and 8. */
import type { TextModel } from '../../catalogue/types.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import type { TextHold } from '../../db/text-money/billing.ts';
import { BODIES } from '../../domain/policy.ts';
import { readObject } from '../../text/read.ts';
import type { ParseContext, WireFormat } from '../../text/wire-format.ts';
import { readJsonBody } from '../middlewares/json-body.ts';
import type { Context } from '../state.ts';
import { mostInputTokens } from './bound-input.ts';
import { checkEarly } from './check-early.ts';
import { chooseModel } from './choose-model.ts';
import { inputTokenEstimate } from './estimate-tokens.ts';
import type { ReadRequest } from './exchange.ts';
import type { TextServices } from './services.ts';

/** What a caller asks of a text endpoint. */
export interface TextAsk {
  readonly context: Context;
  readonly caller: Caller;
  readonly format: WireFormat;
  /** What the path says of the request, where it says something. */
  readonly parseContext: ParseContext;
  /** Whether a stream is sent as the items of a JSON array instead of as server-sent events. */
  readonly streamsArray: boolean;
}

/** One call of a text endpoint. */
export interface TextCall extends TextAsk {
  /** By the clock of the database, in milliseconds since 1970: decides about prices. */
  readonly startedAtMs: number;
  /** When it came, by `performance.now()`, for how long things take. */
  readonly timedFromMs: number;
}

/** A call whose model may be called. */
export interface AdmittedCall extends TextCall {
  readonly requestId: string;
  readonly read: ReadRequest;
  readonly model: TextModel;
  readonly hold: TextHold;
}

/** @throws ServiceError for every reason not to call the model */
export async function admit(call: TextCall, services: TextServices): Promise<AdmittedCall> {
  const { context, caller, format, parseContext, startedAtMs } = call;
  const { requestId } = context.state;
  const announcedBytes = Number(context.req.headers['content-length'] ?? 0);
  await checkEarly(format, parseContext.address?.model ?? null, announcedBytes, caller, services);
  const { value } = await readJsonBody(context.req, BODIES.text, (sizer, bytes) =>
    checkEarly(format, parseContext.address?.model ?? sizer.model, bytes, caller, services),
  );
  const body = readObject(value, '');
  const request = format.client.parseRequest(body, parseContext);
  const model = chooseModel(format.name, body, request, caller.key, services.catalogue);
  const hold = await services.billing.hold({
    caller,
    model,
    format: format.name,
    streamed: request.stream,
    requestId,
    startedAtMs,
    estimateInputTokens: inputTokenEstimate(request),
    mostInputTokens: mostInputTokens(request, body, model),
    maxOutputTokens: request.sampling.maxOutputTokens ?? null,
    choiceCount: request.sampling.choiceCount ?? 1,
  });
  return { ...call, requestId, read: { format, body, request }, model, hold };
}

/** Answers one line of a batch by the rules of a direct request, and stores the answer with its settlement. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Caller } from '../../db/queries/api-keys.ts';
import { contentId, failBatchLine } from '../../db/queries/batch-lines.ts';
import type { Database } from '../../db/database.ts';
import type { TextHold, TextOutcome } from '../../db/text-money/billing.ts';
import { BATCHES } from '../../domain/policy.ts';
import type { Batch, TextBatchEndpoint } from '../../domain/batch.ts';
import { badRequest, ServiceError, toServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { JsonObject } from '../../domain/json.ts';
import { PartialBudgetError } from '../../domain/text-refusal.ts';
import { embeddings } from '../../text/embeddings/index.ts';
import { FORMATS } from '../../text/formats.ts';
import type { ParseContext, SingleFormat, WireFormat } from '../../text/wire-format.ts';
import type { ClientExchange } from '../text/client-exchange.ts';
import { BufferedReply } from '../text/reply.ts';
import type { TextService } from '../text/text-service.ts';

/** A started line. */
export interface StartedLine {
  readonly batchId: string;
  readonly endpoint: TextBatchEndpoint;
  readonly number: number;
  readonly attempt: number;
  readonly caller: Caller;
  readonly body: JsonObject;
  /** The betas of the batch. */
  readonly betas: Batch['betas'];
  /** Whether a failure that may pass is final. */
  readonly isLastTry: boolean;
}

/**
 * `answered`: the line is final. `failed`: the call failed, and may succeed later. `refused`: no line of the batch can
 * start now, because money, the key or the model is not available.
 */
export type LineOutcome =
  | { readonly kind: 'answered' }
  | { readonly kind: 'failed' | 'refused'; readonly error: ServiceError };

export interface LineServices {
  readonly text: Pick<TextService, 'answerInto'>;
  readonly database: Database;
  /** Stores an answer durably, whatever it takes. @param id from `contentId` */
  readonly storeAnswer: (id: string, answer: string) => Promise<void>;
}

export const FORMAT_OF: Readonly<Record<TextBatchEndpoint, WireFormat | SingleFormat>> = {
  '/v1/chat/completions': FORMATS['chat-completions'],
  '/v1/responses': FORMATS.responses,
  '/v1/messages': FORMATS.messages,
  '/v1/embeddings': embeddings,
};

const OK = 200;

const GIVEN_UP = new ServiceError('internal_error', 'The request did not end. Send the request alone.');

/** @throws Error if the database is unavailable: the line then waits for another attempt */
export async function answerLine(line: StartedLine, services: LineServices): Promise<LineOutcome> {
  const requestId = newId('request');
  const format = FORMAT_OF[line.endpoint];
  const reply = new BufferedReply();
  let outcome: LineOutcome = { kind: 'answered' };
  let isAdmitted = false;
  if (line.attempt > BATCHES.maxAttempts) {
    return refuse({ ...line, isLastTry: true }, GIVEN_UP, requestId, format, services);
  }
  const holdOf = (hold: TextHold): TextHold => {
    isAdmitted = true;
    return { ...hold, settle: (consumption) => settle(hold, consumption) };
  };
  const settle = async (hold: TextHold, consumption: TextOutcome): Promise<void> => {
    // The reply is complete once the step that settles ends.
    await Promise.resolve();
    const answer = takeAnswer(reply);
    if (answer instanceof ServiceError && answer.retryable && !line.isLastTry && !isCharged(consumption)) {
      outcome = { kind: 'failed', error: answer };
      return hold.settle(consumption);
    }
    const shown = typeof answer === 'string' ? answer : JSON.stringify(format.client.renderError(answer, requestId));
    try {
      await services.storeAnswer(contentId(line.batchId, line.number, line.attempt), shown);
    } catch (error) {
      // Releases the money. Another attempt calls the model again.
      void hold.settle({ ...consumption, status: 'failed', errorCode: 'internal_error' });
      throw error;
    }
    return hold.settle({
      ...consumption,
      batchLine: {
        number: line.number,
        attempt: line.attempt,
        status: typeof answer === 'string' ? 'succeeded' : 'failed',
        responseStatus: typeof answer === 'string' ? OK : answer.status,
      },
    });
  };
  try {
    await services.text.answerInto(
      {
        context: withoutClient(requestId),
        caller: line.caller,
        format,
        parseContext: contextOf(line),
        streamsArray: false,
        batchId: line.batchId,
        body: bodyOf(line),
      },
      reply,
      holdOf,
    );
  } catch (error) {
    if (isAdmitted) throw error;
    return refuse(line, toServiceError(error), requestId, format, services);
  }
  return outcome;
}

/** Ends a line that no attempt can answer. A refusal that concerns the whole batch leaves the line waiting. */
async function refuse(
  line: StartedLine,
  error: ServiceError,
  requestId: string,
  format: WireFormat | SingleFormat,
  { database, storeAnswer }: LineServices,
): Promise<LineOutcome> {
  if (error.code === 'internal_error' && !line.isLastTry) return { kind: 'failed', error };
  if (concernsBatch(error)) return { kind: 'refused', error };
  await storeAnswer(
    contentId(line.batchId, line.number, line.attempt),
    JSON.stringify(format.client.renderError(error, requestId)),
  );
  await failBatchLine(database, line, { responseStatus: error.status, requestId });
  return { kind: 'answered' };
}

/** Whether a refusal concerns other lines of the batch, too: its money, its key, or a model that is not available. */
export function concernsBatch(error: ServiceError): boolean {
  const concernsAll = error.retryable || error.code === 'invalid_api_key' || error.status === 402;
  return concernsAll && !(error instanceof PartialBudgetError) && error.code !== 'internal_error';
}

/** What a direct request would have in its headers. */
export function contextOf({ betas }: Pick<StartedLine, 'betas'>): ParseContext {
  return betas === null ? {} : { betas };
}

/** Responses of batches are not stored: thousands of them would push out those of conversations. */
export function bodyOf({ body, endpoint }: Pick<StartedLine, 'body' | 'endpoint'>): JsonObject {
  if (body['stream'] === true) throw badRequest('"stream" must not be true in a batch: its answers are whole');
  return endpoint === '/v1/responses' ? { ...body, store: false } : body;
}

function takeAnswer(reply: BufferedReply): string | ServiceError {
  try {
    return reply.take();
  } catch (error) {
    return toServiceError(error);
  }
}

/** Whether the account pays for the call, although its answer cannot be delivered. */
function isCharged({ status, upstream }: TextOutcome): boolean {
  return status !== 'failed' && upstream !== null;
}

/** A request whose client is the batch, which never leaves. */
export function withoutClient(requestId: string): ClientExchange {
  const req = new IncomingMessage(new Socket());
  return {
    req,
    res: new ServerResponse(req),
    state: { requestId, receivedAtMs: performance.now() },
    status: OK,
    set: () => {},
    body: undefined,
  };
}

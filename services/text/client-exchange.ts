/** The parts of an HTTP request and its answer that serving text needs. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UncountedRequest } from '../../db/text-money/billing.ts';
import type { JsonLimits, JsonSizer } from '../../text/json/size.ts';

/** A text request and its answer, such as a Koa context. */
export interface ClientExchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly state: {
    readonly requestId: string;
    /** When the request arrived, by `performance.now()`. */
    readonly receivedAtMs: number;
    /** Set until the request is counted against the limit of its key. */
    uncounted?: UncountedRequest | undefined;
    /** The model that the request names, for the log. */
    model?: string | undefined;
  };
  /** False if the answer is written to `res`; otherwise the server sends the status, the headers and the body. */
  respond?: boolean | undefined;
  status: number;
  set(headers: Record<string, string>): void;
  body: unknown;
}

/**
 * Reads a JSON body within the limits. `mayBeParsed` is called when the whole body has arrived, and may throw to
 * refuse it.
 */
export type ReceiveBody = (
  limits: JsonLimits & { readonly maxBytes: number },
  mayBeParsed: (sizer: JsonSizer, byteLength: number) => Promise<void> | null,
) => Promise<{ readonly value: unknown }>;

/** Counts a deferred request now, unless its hold has counted it. @throws ServiceError 429 */
export async function countNow({ state }: Pick<ClientExchange, 'state'>): Promise<void> {
  const { uncounted } = state;
  state.uncounted = undefined;
  await uncounted?.count();
}

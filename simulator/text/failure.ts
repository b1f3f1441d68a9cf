/** Failures of an upstream, which each format writes differently. */

/** Causes that a directive can set: each maps to the gateway's code of the same name. */
export const SCRIPTED_FAILURES = [
  'bad_request',
  'content_policy_violation',
  'rate_limit_exceeded',
  'processing_unavailable',
  'processing_timeout',
  'processing_failed',
] as const;

export type FailureKind =
  | (typeof SCRIPTED_FAILURES)[number]
  | 'unauthenticated'
  | 'no_funds'
  | 'forbidden'
  | 'not_found'
  | 'too_large'
  | 'context_exceeded';

const KIND_BY_STATUS: Readonly<Record<number, FailureKind>> = {
  401: 'unauthenticated',
  402: 'no_funds',
  403: 'forbidden',
  404: 'not_found',
  408: 'processing_timeout',
  413: 'too_large',
  429: 'rate_limit_exceeded',
  503: 'processing_unavailable',
  504: 'processing_timeout',
  529: 'processing_unavailable',
};

interface TextFailureOptions {
  /** The format's own message for the kind if omitted. */
  readonly message?: string | undefined;
  /** The format's own status for the kind if omitted. */
  readonly status?: number | undefined;
  /** The values of placeholders, such as `{input}`, in the format's own message. */
  readonly values?: Readonly<Record<string, number>>;
}

/** An answer other than success. */
export class TextFailure extends Error {
  override readonly name = 'TextFailure';
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly #values: Readonly<Record<string, number>>;

  constructor(kind: FailureKind, { message, status, values = {} }: TextFailureOptions = {}) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.#values = values;
  }

  /** The failure's own message, or the format's. */
  wordedBy(template: string): string {
    return this.message || template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(this.#values[name]));
  }
}

export function badRequest(message: string): TextFailure {
  return new TextFailure('bad_request', { message });
}

/** The failure for which an upstream would answer with that status. */
export function failureOfStatus(status: number): TextFailure {
  const kind = KIND_BY_STATUS[status] ?? (status < 500 ? 'bad_request' : 'processing_failed');
  return new TextFailure(kind, { status });
}

/** The `Retry-After` of an upstream that got too many requests. */
export const RETRY_AFTER_SECONDS = 1;

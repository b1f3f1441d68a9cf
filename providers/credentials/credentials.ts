/** Credentials that expire: tokens of Google and Microsoft, and signatures of AWS. One instance serves all requests of an upstream. */
export type Headers = Readonly<Record<string, string>>;

/** A request as it is sent. */
export interface SentRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Text, or bytes in pieces. */
  readonly body: string | readonly Uint8Array[];
}

export interface Credentials {
  /**
   * Makes the headers with which an upstream recognises the operator.
   *
   * @throws CredentialsError if there is no valid token
   */
  headersFor(request: SentRequest): Promise<Headers>;
  /**
   * Records that the upstream refused the headers: a new token follows at once, for the requests to come.
   *
   * @param date the upstream's clock: the header `date` of its answer
   */
  refused(date: string | undefined): void;
}

/** There is no valid token. The message is for operators, and has no secrets. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
  /** Whether the token service refuses the credentials, so that only the operator can help. */
  readonly isRefused: boolean;

  constructor(message: string, { isRefused }: { readonly isRefused: boolean }) {
    super(message);
    this.isRefused = isRefused;
  }
}

export interface CredentialsOptions {
  /** For AWS: the region of signatures. */
  readonly region?: string | undefined;
  /** In milliseconds since 1970; `Date.now` by default. */
  readonly nowMs?: (() => number) | undefined;
  /** Limits a request to a token service; 10 s by default. */
  readonly timeoutMs?: number | undefined;
}

/**
 * What Genway must be told about an upstream that renders media. One file in `adapters/` for each protocol implements
 * {@link MediaAdapter}: it maps requests and answers, and does no more than a handful of calls. What is the same for all of them,
 * such as credentials, downloads, recovery and the pace of polls, is done by `upstream.ts` and by the steps of a task.
 * `docs/vendors/adding-one.md` shows how one is written.
 */
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { FieldNames, ImageRole, VendorCost } from '../../domain/media-route.ts';
import type { RenderInputs, TaskKind } from '../../domain/task.ts';
import type { CallbackFormat } from './callbacks.ts';
import type { Authorization } from './credentials.ts';
import type { SubmissionError } from './outcomes.ts';
import type { ResultFile } from './result-file.ts';
import type { VendorAnswer, VendorCall, VendorHttp } from './vendor-http.ts';

/** What to render, for which task, and how the operator wants it asked for. */
export interface RenderRequest extends RenderInputs {
  readonly taskId: string;
  readonly accountId: string;
  /** The upstream's own name of the model. */
  readonly model: string;
  readonly imagesAs: ImageRole;
  /** Further fields of the body, as they are. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly fields: FieldNames;
  /** Where the upstream may announce the end of the job; absent when callbacks are off. */
  readonly callbackUrl?: string;
  /** When nobody waits any more. */
  readonly deadlineAt: Date;
  /** The inputs by their links, where the adapter's `inputs` are `bytes`. */
  readonly files: ReadonlyMap<string, InputFile>;
}

export interface InputFile {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
  /** Such as `image-0.png`. */
  readonly name: string;
}

/** Is there a way to learn what became of a submission whose answer was lost? The best one that the upstream allows. */
export type Recovery =
  /** The upstream makes one job of all submissions with one key: it is looked up, and else submitted again. */
  | 'key'
  /** `find` finds a job by our id. */
  | 'id'
  /** `find` finds jobs by what was sent. */
  | 'content'
  /** `find` lists jobs that may be it; the one that nobody else can have submitted is. */
  | 'exclusion'
  /** Only the callback tells, if one comes. */
  | 'callback'
  | 'none';

/** What rendering one kind of media is like at an upstream. */
export interface KindTraits {
  /** Whether a submission is answered with a job that is to be waited for, or with the files themselves. */
  readonly answers: 'job' | 'files';
  readonly recovery: Recovery;
  /** Whether inputs are sent as links, or as bytes in {@link RenderRequest.files}. */
  readonly inputs: 'links' | 'bytes';
  readonly poll: PollPace;
  /** Whether jobs that moderation stopped are charged for. */
  readonly billsRefusals?: boolean;
}

/** The wait before the first poll, and the longest between two; the waits double in between. */
export interface PollPace {
  readonly firstMs: number;
  readonly everyMs: number;
}

/** An address, and the path with which every call there begins, as with {@link MediaAdapter.versionPath}. */
export interface VendorAddress {
  readonly url: string;
  readonly versionPath: string;
}

export interface MediaAdapter {
  /** The kinds of media that are rendered over this protocol. */
  readonly kinds: Readonly<Partial<Record<TaskKind, KindTraits>>>;
  /** The vendor's own origin; null where the operator has to name one. */
  readonly baseUrl: string | null;
  /** The path with which every call begins, such as `v1`; operators may write it at the end of `base_url` or leave it out. */
  readonly versionPath?: string;
  readonly authorization: Authorization;
  /** The credential may be an access key and a secret key. */
  readonly keyPair?: boolean;
  /** Further addresses of the vendor's own, which an operator may replace: `requests` by the field `requests_url`. */
  readonly addresses?: Readonly<Partial<Record<'requests', VendorAddress>>>;
  readonly callbacks?: CallbackFormat;

  /** The whole submission, sent once. Of the same request it is the same, whenever it is made. */
  submission(request: RenderRequest): VendorCall;
  /**
   * Reads the answer to a submission that succeeded by its status.
   *
   * @throws SubmissionError where the answer says otherwise; OutcomeUnknownError for one that makes no sense
   */
  accepted(answer: VendorAnswer, request: RenderRequest): Accepted;
  /** What an answer says that is no success by its status; null where only the status tells. */
  refusal?(answer: VendorAnswer): SubmissionError | null;
  /**
   * The jobs that may be the one of a submission, as its recovery says; null where this upstream cannot tell.
   *
   * @throws ProviderUnreachableError when it may tell later
   */
  find?(sent: SentSubmission, http: VendorHttp, signal: AbortSignal): Promise<readonly string[] | null>;
  /** @throws ProviderUnreachableError when it says nothing about the job */
  status?(jobId: string, http: VendorHttp, signal: AbortSignal): Promise<JobState>;
  /** Asks the upstream to stop; no error when the job has ended. Absent where it cannot be asked. */
  cancel?(jobId: string, http: VendorHttp, signal: AbortSignal): Promise<void>;
}

/** A job to wait for, by a name that only its adapter understands, or the files. */
export type Accepted =
  { readonly jobId: string } | { readonly files: readonly ResultFile[]; readonly cost?: VendorCost };

/** A submission whose outcome is to be found out. */
export interface SentSubmission {
  readonly request: RenderRequest;
  /** Of the `identity` of its call. */
  readonly fingerprint: string;
  /** Before it was sent, by our clock. */
  readonly since: Date;
}

/** What the upstream says about a job. */
export type JobState =
  | { readonly state: 'running'; readonly progressPercent: number | null; readonly detail: string | null }
  | { readonly state: 'succeeded'; readonly results: readonly ResultFile[]; readonly cost?: VendorCost }
  | {
      readonly state: 'failed';
      readonly code: TaskErrorCode;
      /** For the client. */
      readonly message: string;
      readonly cost?: VendorCost;
    }
  /** The upstream knows no such job. */
  | { readonly state: 'unknown' };

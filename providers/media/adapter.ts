/**
 * The interface of an upstream that renders media. For each protocol, one file in `adapters/` implements {@link
 * MediaAdapter}: it maps requests and answers, and makes only a few calls. Everything common, such as credentials,
 * downloads, recovery and the pace of polls, is in `upstream.ts` and the steps of a task. `docs/vendors/adding-one.md`
 * shows how to write one.
 */
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { FieldNames, ImageRole, RouteChanges, VendorCost } from '../../domain/media-route.ts';
import type { RenderInputs, TaskKind } from '../../domain/task.ts';
import type { AuthKind } from '../credentials/settings.ts';
import type { CallbackFormat } from './callbacks.ts';
import type { Authorization } from './credentials.ts';
import type { SubmissionError } from './outcomes.ts';
import type { VendorResolutions } from './resolutions.ts';
import type { ResultFile } from './result-file.ts';
import type { VendorAnswer, VendorCall, VendorHttp } from './vendor-http.ts';

/** The task to render, and how the operator configured the request. */
export interface RenderRequest extends RenderInputs {
  readonly taskId: string;
  readonly accountId: string;
  /** The upstream's name for the model. */
  readonly model: string;
  readonly imagesAs: ImageRole;
  /** The operator's further fields of the body, unchanged. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly fields: FieldNames;
  /** Applied to the submission that the adapter built. */
  readonly changes?: RouteChanges;
  /** The address to which the upstream may announce the end of the job; absent if callbacks are off. */
  readonly callbackUrl?: string;
  /** After this time the client no longer needs the result. */
  readonly deadlineAt: Date;
  /** The inputs by link, if the adapter's `inputs` are `bytes`. */
  readonly files: ReadonlyMap<string, InputFile>;
}

export interface InputFile {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
  /** For example `image-0.png`. */
  readonly name: string;
}

/** The best method of the upstream to determine an unknown outcome of a submission. */
export type Recovery =
  /** All submissions with one key are one job: `find` looks up the job, or Genway submits again. */
  | 'key'
  /** `find` finds a job by our id. */
  | 'id'
  /** `find` finds jobs by the submitted content. */
  | 'content'
  /** `find` lists candidates; the job is the only candidate that belongs to no other submission. */
  | 'exclusion'
  /** As `exclusion`, but the list may omit jobs: a list without the job proves nothing. */
  | 'candidates'
  /** Only a callback reveals the outcome, if one arrives. */
  | 'callback'
  | 'none';

/** The properties of rendering one kind of media at an upstream. */
export interface KindTraits {
  /** Whether the upstream answers a submission with a job to wait for, or with the files. */
  readonly answers: 'job' | 'files';
  readonly recovery: Recovery;
  /** Whether Genway sends inputs as links, or as bytes from {@link RenderRequest.files}. */
  readonly inputs: 'links' | 'bytes';
  readonly poll: PollPace;
  readonly range: RenderRange;
  /** The vendor's names of the resolutions of videos that it renders; absent if it takes any resolution, or pixels. */
  readonly resolutions?: VendorResolutions;
  /** Whether the vendor charges for jobs that moderation stopped. */
  readonly isRefusalBilled?: boolean;
}

/**
 * The range of requests that the upstream accepts for any model; `any` for values that Genway passes on unchecked.
 * Genway refuses a request outside the range before it sends anything. A catalogue that sells more is invalid.
 */
export interface RenderRange {
  /** For images. */
  readonly tiers: readonly string[] | 'any';
  readonly aspectRatios: readonly [string, ...string[]] | 'any';
  /** For videos. */
  readonly seconds: { readonly min: number; readonly max: number } | 'any';
  /** Whether images can have a transparent background. */
  readonly transparency: boolean;
  /** Whether files have exactly the requested pixels, or the upstream's own size near the requested size and shape. */
  readonly pixels: 'requested' | 'own';
}

/** The wait before the first poll and the maximum wait between two polls; waits double up to the maximum. */
export interface PollPace {
  readonly firstMs: number;
  readonly everyMs: number;
}

export const VENDOR_ADDRESS_NAMES = ['requests', 'storage'] as const;

type VendorAddressName = (typeof VENDOR_ADDRESS_NAMES)[number];

/** An address and the path with which every call to the address starts, like {@link MediaAdapter.versionPath}. */
export interface VendorAddress {
  readonly url: string;
  readonly versionPath: string;
}

export interface MediaAdapter {
  /** The kinds of media that the protocol renders. */
  readonly kinds: Readonly<Partial<Record<TaskKind, KindTraits>>>;
  /** The vendor's origin; null if the operator must configure one. */
  readonly baseUrl: string | null;
  /** The path with which every call starts, such as `v1`; operators may include it in `base_url` or not. */
  readonly versionPath?: string;
  /** Further hosts of the vendor that may get the credential, over https, if `baseUrl` is one of them, too. */
  readonly ownHosts?: RegExp;
  readonly authorization: Authorization;
  /** Whether the credential may be an access key with a secret key. */
  readonly keyPair?: boolean;
  /** The sources of tokens from which the credential may come; none by default. The tokens replace `authorization`. */
  readonly auth?: readonly AuthKind[];
  /** Further addresses of the vendor, which may get the credential. An operator may replace them by the fields `requests_url` and `storage_url`. */
  readonly addresses?: Readonly<Partial<Record<VendorAddressName, VendorAddress>>>;
  readonly callbacks?: CallbackFormat;
  /** Other APIs of the vendor, by the values of the operator's field `api`. */
  readonly apis?: Readonly<Record<string, MediaAdapter>>;

  /** A free call that succeeds only with a valid credential. If absent, a probe calls the root of the address. */
  readonly probe?: VendorCall;
  /** The names of all models in the answer to `probe`; null if the answer does not list all models. */
  modelsIn?(document: unknown): readonly string[] | null;
  /** Models that the vendor has shut down, with the day, such as `2026-10-22`; used if the vendor lists no models. */
  readonly retiredModels?: Readonly<Record<string, string>>;

  /** Builds the submission. The same request always gives the same submission. */
  submission(request: RenderRequest): VendorCall;
  /**
   * Reads the answer to a submission with a successful status.
   *
   * @throws SubmissionError if the body reports a refusal; OutcomeUnknownError if the adapter cannot read the body
   */
  accepted(answer: VendorAnswer, request: RenderRequest): Accepted;
  /** The refusal in an answer with an error status; null if only the status is meaningful. */
  refusal?(answer: VendorAnswer): SubmissionError | null;
  /**
   * Finds the jobs that may belong to a submission, by the kind's `recovery`; null if the upstream cannot tell.
   *
   * @throws ProviderUnreachableError if the upstream may be able to tell later
   */
  find?(sent: SentSubmission, http: VendorHttp, signal: AbortSignal): Promise<readonly string[] | null>;
  /** @throws ProviderUnreachableError if the answer says nothing about the job */
  status?(jobId: string, http: VendorHttp, signal: AbortSignal): Promise<JobState>;
  /** Asks the upstream to stop; not an error if the job has ended. Absent if the upstream cannot stop jobs. */
  cancel?(jobId: string, http: VendorHttp, signal: AbortSignal): Promise<void>;
}

/** A job to wait for, whose id only the adapter interprets, or the files; the list is empty if the render has none. */
export type Accepted =
  | { readonly jobId: string }
  | { readonly files: readonly ResultFile[]; readonly cost?: VendorCost };

/** A submission whose outcome must be found out. */
export interface SentSubmission {
  readonly request: RenderRequest;
  /** The fingerprint of the call's `identity`. */
  readonly fingerprint: string;
  /** A time before the submission was sent, by our clock. */
  readonly since: Date;
}

export interface JobEnd {
  /** When the job ended, if the upstream says so. */
  readonly endedAt?: Date;
}

/** The state of a job, as reported by the upstream. */
export type JobState =
  | {
      readonly state: 'running';
      readonly progressPercent: number | null;
      readonly detail: string | null;
      /** A word that the adapter does not know. Genway warns operators if the upstream repeats it for a minute. */
      readonly unknownWord?: string;
    }
  /** `results` is empty while the upstream names no file: Genway then reads the state again for a minute. */
  | ({ readonly state: 'succeeded'; readonly results: readonly ResultFile[]; readonly cost?: VendorCost } & JobEnd)
  | ({
      readonly state: 'failed';
      readonly code: TaskErrorCode;
      /** For the client. */
      readonly message: string;
      /** What the upstream answered, for operators; absent if the message says it. */
      readonly detail?: string;
      readonly cost?: VendorCost;
    } & JobEnd)
  /** The upstream does not know the job. */
  | { readonly state: 'unknown' };

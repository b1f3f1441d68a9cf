/** Answers of vendors, recorded or documented: one file per API in `test/providers/media/recorded`. */
import { readdirSync, readFileSync } from 'node:fs';
import Joi from 'joi';
import { parse } from 'yaml';
import type { VendorCost } from '../../domain/media-route.ts';
import type { TaskKind } from '../../domain/task.ts';
import type { RenderRequest } from '../../providers/media/adapter.ts';
import { MEDIA_PROTOCOL_NAMES, type MediaProtocol } from '../../providers/media/protocols.ts';

const FOLDER = new URL('../providers/media/recorded/', import.meta.url);

/** The recorded situations. */
const ANSWER_KINDS = [
  'submitted',
  'queued',
  'running',
  'succeeded',
  'failed',
  'refused_invalid',
  'refused_moderation',
  'result_file_missing',
  'cancelled',
  'expired',
  'auth_error',
  'quota',
  'rate_limited',
  'overloaded',
  'listed',
] as const;
export type AnswerKind = (typeof ANSWER_KINDS)[number];

export interface RecordedApi {
  /** The file's name without its ending. */
  readonly name: string;
  readonly protocol: MediaProtocol;
  /** The value of the upstream's `api`; absent for the protocol's usual one. */
  readonly api?: string;
  /** The adapter's name for the job that `status` and `cancel` are called for. */
  readonly job: string;
  readonly recordings: readonly Recording[];
}

export interface Recording {
  /** Completes "the API …". */
  readonly title: string;
  readonly kind: AnswerKind;
  /** The source of the recording or documentation. */
  readonly source: string;
  readonly call: 'submit' | 'status' | 'find' | 'cancel';
  readonly media: TaskKind;
  readonly request: Partial<RenderRequest>;
  /** In the order in which the adapter gets them; the last is repeated. */
  readonly answers: readonly RecordedAnswer[];
  readonly outcome: RecordedOutcome;
}

export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A string is sent unchanged, anything else as JSON. */
  readonly body: unknown;
}

/** The expected meaning of the answers. `message` is compared only where a recording has one, the rest always. */
export interface RecordedOutcome {
  /** The name of the job that a submission started. */
  readonly accepted?: string;
  /** The results of a submission that is answered with files, or of a job that succeeded: links, and the sizes of other files. */
  readonly files?: readonly (string | number)[];
  /** The task's error code after a submission or a job that failed. */
  readonly failed?: string;
  /** The reason why the upstream certainly did not accept a submission. */
  readonly notTaken?: 'busy' | 'access_refused';
  readonly retryAfterMs?: number;
  /** A submission is `unknown` if it may have been accepted. A job is `running`, `missing`, or `unclear` without a verdict. */
  readonly state?: 'unknown' | 'running' | 'missing' | 'unclear';
  /** The jobs that a search found. */
  readonly found?: readonly string[] | null;
  readonly stopped?: true;
  readonly cost?: VendorCost;
  readonly message?: string;
}

/** An answer in a file, with status 200 and no headers by default. */
interface WrittenAnswer {
  readonly status?: number | undefined;
  readonly headers?: RecordedAnswer['headers'] | undefined;
  readonly body?: unknown;
}

/** A recording in a file: a call of `status` by default. A single answer needs no list. */
interface WrittenRecording extends Omit<Recording, 'answers'>, WrittenAnswer {
  readonly answers?: readonly WrittenAnswer[];
}

interface WrittenApi extends Omit<RecordedApi, 'name' | 'recordings'> {
  readonly recordings: readonly WrittenRecording[];
  /** The anchors of what several answers have; the parser puts the parts into the answers. */
  readonly parts?: readonly unknown[];
}

const answerFields = {
  status: Joi.number().integer(),
  headers: Joi.object().pattern(Joi.string(), Joi.string()),
  body: Joi.any(),
};

const outcome = Joi.object<RecordedOutcome>({
  accepted: Joi.string(),
  files: Joi.array().items(Joi.string(), Joi.number()),
  failed: Joi.string(),
  notTaken: Joi.valid('busy', 'access_refused'),
  retryAfterMs: Joi.number(),
  state: Joi.valid('unknown', 'running', 'missing', 'unclear'),
  found: Joi.array().items(Joi.string()).allow(null),
  stopped: Joi.valid(true),
  cost: Joi.object({ amount: Joi.string().required(), unit: Joi.string().required() }),
  message: Joi.string(),
}).min(1);

const api = Joi.object<WrittenApi>({
  protocol: Joi.valid(...MEDIA_PROTOCOL_NAMES).required(),
  api: Joi.string(),
  job: Joi.string().required(),
  parts: Joi.array(),
  recordings: Joi.array()
    .items(
      Joi.object({
        title: Joi.string().required(),
        kind: Joi.valid(...ANSWER_KINDS).required(),
        source: Joi.string().required(),
        call: Joi.valid('submit', 'status', 'find', 'cancel').default('status'),
        media: Joi.valid('image', 'video').default('video'),
        request: Joi.object().default({}),
        ...answerFields,
        answers: Joi.array()
          .items(Joi.object({ ...answerFields, body: Joi.any().required() }))
          .min(1),
        outcome: outcome.required(),
      })
        .xor('answers', 'body')
        .without('answers', ['status', 'headers']),
    )
    .unique('title')
    .min(1)
    .required(),
});

/** Every file. @throws Error for an invalid one */
export function readRecordedApis(): readonly RecordedApi[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => {
      const written: unknown = parse(readFileSync(new URL(file, FOLDER), 'utf8'), { merge: true });
      const { error, value } = api.validate(written, { convert: false });
      if (error) throw new Error(`${file}: ${error.message}`);
      const { parts: _, recordings, ...rest } = value;
      return { name: file.replace('.yaml', ''), ...rest, recordings: recordings.map(recordingIn) };
    });
}

function recordingIn({ status, headers, body, answers, ...rest }: WrittenRecording): Recording {
  const written = answers ?? [{ status, headers, body }];
  return { ...rest, answers: written.map(({ status = 200, headers = {}, body }) => ({ status, headers, body })) };
}

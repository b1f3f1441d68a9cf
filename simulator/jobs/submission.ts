/** Reads and checks submissions: `POST /v1/jobs` of the HTTP job protocol. */
import { isObject } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import { BadDirectiveError, oneOf, parseDirectives, wholeNumber } from '../directives.ts';
import { Refusal } from '../router.ts';
import { parseUrl } from '../../domain/parse-url.ts';

const RESOLUTIONS = ['720p', '1080p', '2k', '4k'];
const ASPECT_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'];
const MAX_DURATION_SECONDS = 30;
const MAX_EDGE_PIXELS = 3840;
const MAX_PIXELS = 8_294_400;
const INPUT_LISTS = ['images', 'reference_videos', 'reference_audios'] as const;
const MAX_FILES = 16;
const RESULT_FAULTS = ['missing', 'truncated', 'wrong_type', 'slow', 'stalled'] as const;

/** The picture to draw. */
export type Rendering =
  | { readonly kind: 'video'; readonly width: number; readonly height: number; readonly durationSeconds: number }
  | { readonly kind: 'image'; readonly width: number; readonly height: number; readonly transparent: boolean };

/** The behaviour that the directives in the prompt request. */
export interface MediaDirectives {
  readonly renderMs: number | undefined;
  /** The code with which the job ends. */
  readonly fail: string | undefined;
  /** The code with which the submission is refused. */
  readonly reject: string | undefined;
  readonly isStuck: boolean;
  /** Continues when it is cancelled. */
  readonly isUnstoppable: boolean;
  readonly dropSubmit: boolean;
  /** Accepted, but answered with an error. */
  readonly submitError: boolean;
  readonly pollErrors: number;
  /** How many polls are answered with "no such job". */
  readonly forgets: number;
  /** How many downloads fail with 403. */
  readonly deadLinks: number;
  readonly result: (typeof RESULT_FAULTS)[number] | undefined;
  /** Reports success at first, and failure from then on. */
  readonly recants: boolean;
  /** The number of a missing file, from 0. */
  readonly missingFile: number | undefined;
  /** The number of files that the job creates. */
  readonly files: number;
}

export interface Submission {
  readonly model: string;
  readonly rendering: Rendering;
  readonly directives: MediaDirectives;
  /** The number of links in each list of inputs. */
  readonly inputs: Readonly<Record<string, number>>;
  readonly callbackUrl: string | undefined;
}

/** Reads a submission. The prompt itself is not kept. @throws Refusal 422 `bad_request`, naming the field */
export function parseSubmission(body: unknown): Submission {
  if (!isObject(body)) throw refuse('the body must be an object');
  const prompt = body['prompt'];
  if (typeof prompt !== 'string' || prompt === '') throw refuse('"prompt" is required');
  const callbackUrl = body['callback_url'];
  if (callbackUrl !== undefined && (typeof callbackUrl !== 'string' || parseUrl(callbackUrl) === null)) {
    throw refuse('"callback_url" must be a URL');
  }
  return {
    model: typeof body['model'] === 'string' ? body['model'] : '',
    rendering: parseRendering(body),
    directives: parseMediaDirectives(prompt),
    inputs: Object.fromEntries(INPUT_LISTS.map((name) => [name, countLinks(name, body[name])])),
    callbackUrl,
  };
}

function parseRendering(body: Readonly<Record<string, unknown>>): Rendering {
  if (body['kind'] === 'video') {
    const durationSeconds = integer(body, 'duration_seconds', MAX_DURATION_SECONDS);
    const resolution = oneWord(body, 'resolution', RESOLUTIONS);
    const size = videoSizeFor(resolution, oneWord(body, 'aspect_ratio', ASPECT_RATIOS));
    return { kind: 'video', ...size, durationSeconds };
  }
  if (body['kind'] !== 'image') throw refuse('"kind" must be one of: image, video');
  const width = integer(body, 'width', MAX_EDGE_PIXELS);
  const height = integer(body, 'height', MAX_EDGE_PIXELS);
  if (width * height > MAX_PIXELS) throw refuse(`"width" times "height" must be at most ${MAX_PIXELS}`);
  return { kind: 'image', width, height, transparent: body['background'] === 'transparent' };
}

export function parseMediaDirectives(prompt: string): MediaDirectives {
  const directives = parseDirectives(prompt);
  try {
    return {
      renderMs: wholeNumber(directives, 'render_ms'),
      fail: directives.get('fail'),
      reject: directives.get('reject'),
      isStuck: directives.has('stuck'),
      isUnstoppable: directives.has('unstoppable'),
      dropSubmit: directives.has('drop_submit'),
      submitError: directives.has('submit_error'),
      pollErrors: wholeNumber(directives, 'poll_errors') ?? 0,
      forgets: wholeNumber(directives, 'forget') ?? 0,
      deadLinks: wholeNumber(directives, 'dead_links') ?? 0,
      recants: directives.has('recant'),
      missingFile: wholeNumber(directives, 'missing_file'),
      result: oneOf(directives, 'result', RESULT_FAULTS),
      files: Math.min(Math.max(wholeNumber(directives, 'files') ?? 1, 1), MAX_FILES),
    };
  } catch (error) {
    if (error instanceof BadDirectiveError) throw refuse(error.message);
    throw error;
  }
}

function countLinks(name: string, links: unknown): number {
  if (links === undefined) return 0;
  if (!Array.isArray(links) || !links.every((link) => typeof link === 'string')) {
    throw refuse(`"${name}" must be a list of URLs`);
  }
  return links.length;
}

function integer(body: Readonly<Record<string, unknown>>, name: string, maximum: number): number {
  const value = body[name];
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > maximum) {
    throw refuse(`"${name}" must be a whole number from 1 to ${maximum}`);
  }
  return value;
}

function oneWord(body: Readonly<Record<string, unknown>>, name: string, words: readonly string[]): string {
  const word = words.find((candidate) => candidate === body[name]);
  if (word === undefined) throw refuse(`"${name}" must be one of: ${words.join(', ')}`);
  return word;
}

function refuse(message: string): Refusal {
  return new Refusal(422, 'bad_request', message);
}

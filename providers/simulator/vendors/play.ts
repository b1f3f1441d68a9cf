/**
 * What all played vendors have in common: renders that take a while, and the faults that directives in prompts ask for. A
 * vendor's own file has its addresses, its fields, checked strictly, and its words for what goes wrong.
 */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { BadDirectiveError, type Directives, parseDirectives, wholeNumber } from '../directives.ts';
import { cancelJob, createJob, hasEnded, hasResult, type Job, statusOf } from '../jobs/job.ts';
import type { ResultSender } from '../jobs/results.ts';
import { parseMediaDirectives, type Rendering } from '../jobs/submission.ts';
import { dropConnection, Refusal, type Route, sendJson, type SimulatorRequest } from '../router.ts';

/** What can be wrong, as every vendor has words for it. */
export type Fault =
  | { readonly kind: 'unauthorized' }
  /** A field that is missing, unknown, or not as it should be. */
  | { readonly kind: 'invalid'; readonly field: string; readonly message: string }
  /** The verdict that a prompt asked for; `code` is one of a task. */
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number }
  /** The account has no money left. */
  | { readonly kind: 'broke' }
  /** There is no such job. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'error' };

export interface VendorAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers the request with the vendor's words. */
export class VendorFault extends Error {
  override readonly name = 'VendorFault';
  readonly fault: Fault;
  constructor(fault: Fault) {
    super(fault.kind);
    this.fault = fault;
  }
}

export interface Vendor {
  /** The protocol, and the folder below `/vendors` at which it is played. */
  readonly name: string;
  isAuthorized(request: SimulatorRequest, apiKey: string | undefined): boolean;
  words(fault: Fault): VendorAnswer;
  /** Paths are below `/vendors/<name>`. */
  routes(play: Play): readonly Route[];
  /** Further routes, for which no credential is asked. */
  publicRoutes?(): readonly Route[];
  /** What is sent to the address that came with an order when its render has ended; nothing where it is absent. */
  announcement?(render: Render, state: RenderState, secret: string): Announcement;
}

export interface Announcement {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a vendor was asked to render. */
export interface Order {
  readonly prompt: string;
  readonly model: string;
  readonly rendering: Rendering;
  /** The body as it was sent, for lists of past requests. */
  readonly sent: unknown;
  /** The client's own id of the job, where the vendor takes one. */
  readonly clientId?: string;
  readonly callbackUrl?: string;
}

export interface Render {
  readonly id: string;
  readonly order: Order;
  readonly job: Job;
  /** What the directive `mark` calls it, by which tests count renders. */
  readonly mark: string | null;
  oddWordsLeft: number;
}

/** As the vendor's own states proceed; `odd` is an unknown word. */
export type RenderState = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'odd';

export interface Play {
  readonly apiKey: string | undefined;
  /** Takes an order in. @throws VendorFault that its prompt asks for */
  take(order: Order): Render;
  /** Answers the submission of a render that was taken, unless its prompt asks for a fault. */
  acknowledge(render: Render, response: ServerResponse, answer: VendorAnswer): void;
  /** The render that is asked about. @throws VendorFault for one that is not known, or that its prompt asks for */
  ask(id: string): Render;
  /** Newest first. */
  all(): readonly Render[];
  stateOf(render: Render): RenderState;
  /** The code with which it failed. */
  failureOf(render: Render): string;
  cancel(render: Render): void;
  /** The links of its files, at another origin than the vendor's own. */
  linksOf(render: Render, request: SimulatorRequest): readonly string[];
  /** Its files themselves, once they are rendered; never, for one that is stuck. */
  filesOf(render: Render): Promise<readonly Buffer[]>;
  /** Sends one of its files, with the faults that its prompt asks for. */
  sendFile(render: Render, index: number, response: ServerResponse): Promise<void>;
}

const LIMITED_SECONDS = 1;
/** At the least, since an announcement never comes before the answer to the submission has been written. */
const ANNOUNCED_AFTER_MS = 50;
const MAX_RENDERS = 20_000;

export interface PlayOptions {
  readonly apiKey: string | undefined;
  /** With which vendors sign announcements whose customers share a secret with them. */
  readonly callbackSecret: string | undefined;
  readonly renderMs: number;
  readonly results: ResultSender;
}

/** Plays one vendor. @returns what it remembers, and its routes */
export function playVendor(
  vendor: Vendor,
  options: PlayOptions,
): { readonly play: Play; readonly routes: readonly Route[] } {
  const renders = new Map<string, Render>();
  const takeIn = createIntake(renders, options);
  const play: Play = {
    apiKey: options.apiKey,
    take(order) {
      const render = takeIn(order);
      announceEnd(vendor, render, options);
      return render;
    },
    acknowledge,
    ask: (id) => asked(renders.get(id)),
    all: () => [...renders.values()].toReversed(),
    stateOf,
    failureOf: ({ job }) => job.submission.directives.fail ?? 'processing_failed',
    cancel: ({ job }) => cancelJob(job, Date.now()),
    ...createFiles(vendor, options.results),
  };
  return { play, routes: routesOf(vendor, play) };
}

function createIntake(renders: Map<string, Render>, { renderMs }: PlayOptions): Play['take'] {
  /** How often a prompt was turned away. */
  const limited = new Map<string, number>();

  return (order) => {
    const directives = parseDirectives(order.prompt);
    refuseAsAsked(order.prompt, directives, limited);
    const media = parseMediaDirectives(order.prompt);
    if (media.reject !== undefined) throw new VendorFault({ kind: 'refused', code: media.reject });
    const { model, rendering, callbackUrl } = order;
    const submission = { model, rendering, directives: media, inputs: {}, callbackUrl };
    const id = randomUUID();
    const render = {
      id,
      order,
      job: createJob(order.clientId ?? id, submission, Date.now(), renderMs),
      mark: directives.get('mark') ?? null,
      oddWordsLeft: wholeNumber(directives, 'odd_words') ?? 0,
    };
    renders.set(id, render);
    for (const oldest of renders.keys()) if (renders.size > MAX_RENDERS) renders.delete(oldest);
    return render;
  };
}

/** Once and no more: polling stays the truth. */
function announceEnd(vendor: Vendor, render: Render, { callbackSecret = '' }: PlayOptions): void {
  const { callbackUrl } = render.order;
  const waitMs = render.job.rendersUntilMs - Date.now();
  if (callbackUrl === undefined || !vendor.announcement || !Number.isFinite(waitMs)) return;
  const send = (): void => {
    const announcement = vendor.announcement?.(render, stateOf(render), callbackSecret);
    if (announcement) fetch(callbackUrl, { method: 'POST', ...announcement }).catch(() => undefined);
  };
  setTimeout(send, Math.max(waitMs, ANNOUNCED_AFTER_MS)).unref();
}

/** Turns an order away without taking it. */
function refuseAsAsked(prompt: string, directives: Directives, limited: Map<string, number>): void {
  if (directives.has('broke')) throw new VendorFault({ kind: 'broke' });
  const times = limited.get(prompt) ?? 0;
  if (times < (wholeNumber(directives, 'limited') ?? 0)) {
    limited.set(prompt, times + 1);
    throw new VendorFault({ kind: 'limited', retryAfterSeconds: LIMITED_SECONDS });
  }
}

function acknowledge(render: Render, response: ServerResponse, answer: VendorAnswer): void {
  const directives = parseDirectives(render.order.prompt);
  if (directives.has('drop_submit')) return dropConnection(response);
  if (directives.has('submit_error')) throw new VendorFault({ kind: 'error' });
  if (directives.has('unreadable_submit')) return sendJson(response, 200, {});
  const lateMs = wholeNumber(directives, 'submit_ms') ?? 0;
  if (lateMs === 0) return sendAnswer(response, answer);
  setTimeout(() => sendAnswer(response, answer), lateMs).unref();
}

function asked(render: Render | undefined): Render {
  if (!render) throw new VendorFault({ kind: 'missing' });
  const { job } = render;
  if (job.pollErrorsLeft > 0) {
    job.pollErrorsLeft -= 1;
    throw new VendorFault({ kind: 'error' });
  }
  if (job.forgetsLeft > 0) {
    job.forgetsLeft -= 1;
    throw new VendorFault({ kind: 'missing' });
  }
  return render;
}

function stateOf(render: Render): RenderState {
  const status = statusOf(render.job, Date.now());
  if (status !== 'running' || render.oddWordsLeft === 0) return status;
  render.oddWordsLeft -= 1;
  return 'odd';
}

function createFiles(vendor: Vendor, results: ResultSender): Pick<Play, 'linksOf' | 'filesOf' | 'sendFile'> {
  return {
    linksOf({ id, job }, request) {
      // Another name of this machine is another origin.
      const host = (request.headers.host ?? 'localhost').replace('127.0.0.1', 'localhost');
      const { files } = job.submission.directives;
      return Array.from({ length: files }, (_, index) => `http://${host}/vendors/${vendor.name}/files/${id}/${index}`);
    },

    async filesOf({ job }) {
      while (!hasEnded(job, Date.now())) {
        await sleep(Math.min(job.rendersUntilMs - Date.now(), 1_000), undefined, { ref: false });
      }
      const file = faultyAsAsked(await results.fileOf(job.submission.rendering), job);
      return Array.from({ length: job.submission.directives.files }, () => file);
    },

    async sendFile({ job }, index, response) {
      if (!hasResult(job, String(index), Date.now())) throw new VendorFault({ kind: 'missing' });
      if (job.deadLinksLeft > 0) {
        job.deadLinksLeft -= 1;
        throw new VendorFault({ kind: 'missing' });
      }
      job.downloads += 1;
      await results.send(job, response);
    },
  };
}

/** Of what can be wrong with a file, that which can be in an answer, too. */
function faultyAsAsked(file: Buffer, { submission }: Job): Buffer {
  const { result } = submission.directives;
  if (result === 'wrong_type') return Buffer.from('<!doctype html><title>Not a file</title>');
  return result === 'truncated' ? file.subarray(0, Math.floor(file.length / 2)) : file;
}

function routesOf(vendor: Vendor, play: Play): readonly Route[] {
  const prefix = `/vendors/${vendor.name}`;
  const files: Route = {
    method: 'GET',
    path: `${prefix}/files/{id}/{index}`,
    handle: (request, response) =>
      play.sendFile(play.ask(request.parameters['id'] ?? ''), Number(request.parameters['index']), response),
  };
  const own = vendor.routes(play).map((route) => ({
    ...route,
    path: `${prefix}${route.path}`,
    handle: async (request: SimulatorRequest, response: ServerResponse) => {
      if (!vendor.isAuthorized(request, play.apiKey)) throw new VendorFault({ kind: 'unauthorized' });
      await route.handle(request, response);
    },
  }));
  const open = (vendor.publicRoutes?.() ?? []).map((route) => ({ ...route, path: `${prefix}${route.path}` }));
  return [...own, ...open, files].map((route) => ({
    ...route,
    handle: async (request: SimulatorRequest, response: ServerResponse) => {
      try {
        await route.handle(request, response);
      } catch (error) {
        sendAnswer(response, vendor.words(faultOf(error)));
      }
    },
  }));
}

/** @throws the error itself when it is no fault of the client's, nor one that was asked for */
function faultOf(error: unknown): Fault {
  if (error instanceof VendorFault) return error.fault;
  if (error instanceof Refusal || error instanceof BadDirectiveError) {
    return { kind: 'invalid', field: 'prompt', message: error.message };
  }
  throw error;
}

function sendAnswer(response: ServerResponse, { status, body, headers = {} }: VendorAnswer): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  sendJson(response, status, body);
}

/** For renders whose answers hold the files. @throws VendorFault where one failed as its prompt asks */
export function throwIfFailed(play: Play, render: Render): void {
  if (play.stateOf(render) !== 'failed') return;
  const code = play.failureOf(render);
  throw new VendorFault(code === 'content_policy_violation' ? { kind: 'refused', code } : { kind: 'error' });
}

/** Whether the render is in lists of past requests. */
export function isListed({ order }: Render): boolean {
  return !parseDirectives(order.prompt).has('unlisted');
}

/** Whether the request carries the credential as a bearer token, or after another word. */
export function hasCredential(request: SimulatorRequest, apiKey: string | undefined, scheme = 'Bearer'): boolean {
  const [given, key, ...others] = (request.headers.authorization ?? '').split(' ');
  return given === scheme && key !== undefined && others.length === 0 && (apiKey === undefined || key === apiKey);
}

/** Refuses fields that the vendor does not know. @throws VendorFault */
export function onlyFields(body: Readonly<Record<string, unknown>>, known: readonly string[]): void {
  const unknown = Object.keys(body).find((field) => !known.includes(field));
  if (unknown !== undefined) throw invalid(unknown, `Unknown parameter: '${unknown}'.`);
}

export function invalid(field: string, message: string): VendorFault {
  return new VendorFault({ kind: 'invalid', field, message });
}

/** The pixels of `1280x720`. @throws VendorFault */
export function pixelsOf(field: string, text: unknown): { readonly width: number; readonly height: number } {
  const match = typeof text === 'string' ? /^([1-9]\d{2,3})x([1-9]\d{2,3})$/.exec(text) : null;
  if (!match) throw invalid(field, `'${field}' must be a size such as 1280x720.`);
  return { width: Number(match[1]), height: Number(match[2]) };
}

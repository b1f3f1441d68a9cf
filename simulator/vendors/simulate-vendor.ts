/**
 * Shared by all simulated vendors: renders that take a while, and the faults that directives in prompts set. Each
 * vendor's own file has its addresses, its fields, which are checked strictly, and its answers to faults.
 */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { BadDirectiveError, type Directives, parseDirectives, wholeNumber } from '../directives.ts';
import { cancelJob, createJob, hasEnded, hasResult, type Job, statusOf } from '../jobs/job.ts';
import type { ResultSender } from '../jobs/results.ts';
import { parseMediaDirectives, type Rendering } from '../jobs/submission.ts';
import { dropConnection, parseJson, Refusal, type Route, sendJson, type SimulatorRequest } from '../router.ts';

/** Everything that can go wrong. Each vendor answers it in its own format. */
export type Fault =
  | { readonly kind: 'unauthorized' }
  /** A field is missing, unknown or invalid. */
  | { readonly kind: 'invalid'; readonly field: string; readonly message: string }
  /** The failure set in the prompt; `code` is an error code of tasks. */
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number }
  /** The account has no money left. */
  | { readonly kind: 'broke' }
  /** The job does not exist. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'error' };

/** What a vendor's answers to all faults say. A refusal that a directive asks for has its code's entry. */
export type FaultAnswers<Answer> = Readonly<
  Record<Exclude<Fault['kind'], 'refused'> | 'moderated' | 'bad_request' | 'unavailable', Answer>
>;

export function answerFor<Answer>(fault: Fault, answers: FaultAnswers<Answer>): Answer {
  if (fault.kind !== 'refused') return answers[fault.kind];
  if (fault.code === 'content_policy_violation') return answers.moderated;
  return fault.code === 'bad_request' ? answers.bad_request : answers.unavailable;
}

/** The header with the wait of a refused request; none for other faults. */
export function retryAfterOf(fault: Fault): Readonly<Record<string, string>> {
  return fault.kind === 'limited' ? { 'retry-after': String(fault.retryAfterSeconds) } : {};
}

/** The message of a fault after the field that is wrong, if one is. @param usual the vendor's message */
export function messageWithField(fault: Fault, usual: string): string {
  return fault.kind === 'invalid' ? `${fault.field}: ${fault.message}` : usual;
}

export interface VendorAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes the vendor answer the request with this fault. */
export class VendorFault extends Error {
  override readonly name = 'VendorFault';
  readonly fault: Fault;
  constructor(fault: Fault) {
    super(fault.kind);
    this.fault = fault;
  }
}

export interface Vendor {
  /** The protocol, which is also the path below `/vendors`. */
  readonly name: string;
  /** Whether the request has the credential; by default as a bearer token. */
  isAuthorized?(request: SimulatorRequest, apiKey: string | undefined): boolean;
  answerFault(fault: Fault): VendorAnswer;
  /** Paths are below `/vendors/<name>`. */
  routes(renders: Renders): readonly Route[];
  /** Further routes, which need no credential. */
  publicRoutes?(): readonly Route[];
  /** The callback of an order whose render has ended; absent if the vendor sends none. */
  announcement?(render: Render, state: RenderState, secret: string): Announcement;
}

export interface Announcement {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A render that a vendor accepted. */
export interface Order {
  readonly prompt: string;
  readonly model: string;
  readonly rendering: Rendering;
  /** The body as received, for lists of past requests. */
  readonly sent: unknown;
  /** The client's own id for the job, if the vendor accepts one. */
  readonly clientId?: string;
  readonly callbackUrl?: string;
}

export interface Render {
  readonly id: string;
  readonly order: Order;
  readonly job: Job;
  /** The value of the directive `mark`, by which tests count renders. */
  readonly mark: string | null;
  oddStatesLeft: number;
}

/** In the order in which jobs pass through them; `odd` is a state that no client knows. */
export type RenderState = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'odd';

/** The renders of one vendor, and what its routes do with them. */
export interface Renders {
  readonly apiKey: string | undefined;
  /** Accepts an order. @throws VendorFault set in its prompt */
  accept(order: Order): Render;
  /** Answers the submission of an accepted render, unless its prompt sets a fault. */
  acknowledge(render: Render, response: ServerResponse, answer: VendorAnswer): void;
  /** The render with that id. @throws VendorFault if it does not exist, or if its prompt sets it */
  get(id: string): Render;
  /** Newest first. */
  all(): readonly Render[];
  stateOf(render: Render): RenderState;
  /** The code with which it failed. */
  failureOf(render: Render): string;
  cancel(render: Render): void;
  /** Links to its files, at another origin than the vendor's API. */
  linksOf(render: Render, request: SimulatorRequest): readonly string[];
  /** Resolves with the files when they are rendered; never resolves for a render that is stuck. */
  filesOf(render: Render): Promise<readonly Buffer[]>;
  /** Sends one of its files, with the faults set in its prompt. */
  sendFile(render: Render, index: number, response: ServerResponse): Promise<void>;
}

const LIMITED_SECONDS = 1;
/** At least: the answer to the submission must have been written before the announcement arrives. */
const ANNOUNCED_AFTER_MS = 50;
const MAX_RENDERS = 20_000;

export interface VendorOptions {
  readonly apiKey: string | undefined;
  /** The secret that vendors share with their customers to sign announcements. */
  readonly callbackSecret: string | undefined;
  readonly renderMs: number;
  readonly results: ResultSender;
}

/** Simulates one vendor. @returns its renders, and its routes */
export function simulateVendor(
  vendor: Vendor,
  options: VendorOptions,
): { readonly renders: Renders; readonly routes: readonly Route[] } {
  const byId = new Map<string, Render>();
  const intake = createIntake(byId, options);
  const renders: Renders = {
    apiKey: options.apiKey,
    accept(order) {
      const render = intake(order);
      announceEnd(vendor, render, options);
      return render;
    },
    acknowledge,
    get: (id) => throwIfHidden(byId.get(id)),
    all: () => [...byId.values()].toReversed(),
    stateOf,
    failureOf: ({ job }) => job.submission.directives.fail ?? 'processing_failed',
    cancel: ({ job }) => cancelJob(job, Date.now()),
    ...createFiles(vendor, options.results),
  };
  return { renders, routes: routesOf(vendor, renders) };
}

function createIntake(byId: Map<string, Render>, { renderMs }: VendorOptions): Renders['accept'] {
  /** How often each prompt was refused. */
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
      oddStatesLeft: wholeNumber(directives, 'odd_words') ?? 0,
    };
    byId.set(id, render);
    for (const oldest of byId.keys()) if (byId.size > MAX_RENDERS) byId.delete(oldest);
    return render;
  };
}

/** Only once: a lost announcement must do no harm. */
function announceEnd(vendor: Vendor, render: Render, { callbackSecret = '' }: VendorOptions): void {
  const { callbackUrl } = render.order;
  const waitMs = render.job.rendersUntilMs - Date.now();
  if (callbackUrl === undefined || !vendor.announcement || !Number.isFinite(waitMs)) return;
  const send = (): void => {
    const announcement = vendor.announcement?.(render, stateOf(render), callbackSecret);
    if (announcement) fetch(callbackUrl, { method: 'POST', ...announcement }).catch(() => undefined);
  };
  setTimeout(send, Math.max(waitMs, ANNOUNCED_AFTER_MS)).unref();
}

/** Refuses an order without accepting it. */
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

function throwIfHidden(render: Render | undefined): Render {
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
  if (status !== 'running' || render.oddStatesLeft === 0) return status;
  render.oddStatesLeft -= 1;
  return 'odd';
}

function createFiles(vendor: Vendor, results: ResultSender): Pick<Renders, 'linksOf' | 'filesOf' | 'sendFile'> {
  return {
    linksOf({ id, job }, request) {
      // A second name for this machine makes a second origin.
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

/** The faults of files that can also occur in an answer. */
function faultyAsAsked(file: Buffer, { submission }: Job): Buffer {
  const { result } = submission.directives;
  if (result === 'wrong_type') return Buffer.from('<!doctype html><title>Not a file</title>');
  return result === 'truncated' ? file.subarray(0, Math.floor(file.length / 2)) : file;
}

function routesOf(vendor: Vendor, renders: Renders): readonly Route[] {
  const prefix = `/vendors/${vendor.name}`;
  const files: Route = {
    method: 'GET',
    path: `${prefix}/files/{id}/{index}`,
    handle: (request, response) =>
      renders.sendFile(renders.get(request.parameters['id'] ?? ''), Number(request.parameters['index']), response),
  };
  const own = vendor.routes(renders).map((route) => ({
    ...route,
    path: `${prefix}${route.path}`,
    handle: async (request: SimulatorRequest, response: ServerResponse) => {
      const isAuthorized = vendor.isAuthorized?.(request, renders.apiKey) ?? hasCredential(request, renders.apiKey);
      if (!isAuthorized) throw new VendorFault({ kind: 'unauthorized' });
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
        sendAnswer(response, vendor.answerFault(faultOf(error)));
      }
    },
  }));
}

/** @throws the error itself if neither the client nor a directive caused it */
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

/** For renders whose answers contain the files. @throws VendorFault if the prompt sets a failure */
export function throwIfFailed(renders: Renders, render: Render): void {
  if (renders.stateOf(render) !== 'failed') return;
  const code = renders.failureOf(render);
  throw new VendorFault(code === 'content_policy_violation' ? { kind: 'refused', code } : { kind: 'error' });
}

/** Whether lists of past requests contain the render. */
export function isListed({ order }: Render): boolean {
  return !parseDirectives(order.prompt).has('unlisted');
}

/** Whether the request has the credential in `Authorization`, after the word of the scheme. */
export function hasCredential(request: SimulatorRequest, apiKey: string | undefined, scheme = 'Bearer'): boolean {
  const [given, key, ...others] = (request.headers.authorization ?? '').split(' ');
  return given === scheme && key !== undefined && others.length === 0 && (apiKey === undefined || key === apiKey);
}

/** The body, an object of these fields. @throws VendorFault */
export function bodyOf(request: SimulatorRequest, fields: readonly string[]): JsonObject {
  const body = parseJson(request);
  if (!isObject(body)) throw invalid('body', 'The request body must be an object.');
  onlyFields(body, fields);
  return body;
}

/** @throws VendorFault for fields that the vendor does not know */
export function onlyFields(body: Readonly<Record<string, unknown>>, known: readonly string[]): void {
  const unknown = Object.keys(body).find((field) => !known.includes(field));
  if (unknown !== undefined) throw invalid(unknown, `Unknown parameter: '${unknown}'.`);
}

export function invalid(field: string, message: string): VendorFault {
  return new VendorFault({ kind: 'invalid', field, message });
}

/** The width and height in a text such as `1280x720`. @throws VendorFault */
export function pixelsOf(field: string, text: unknown): { readonly width: number; readonly height: number } {
  const match = typeof text === 'string' ? /^([1-9]\d{2,3})x([1-9]\d{2,3})$/.exec(text) : null;
  if (!match) throw invalid(field, `'${field}' must be a size such as 1280x720.`);
  return { width: Number(match[1]), height: Number(match[2]) };
}

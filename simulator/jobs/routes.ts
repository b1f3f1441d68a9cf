/** The upstream's side of the HTTP job protocol (docs/provider-protocol.md). */
import type { IncomingHttpHeaders } from 'node:http';
import { dropConnection, parseJson, Refusal, type Route, route, sendJson, type SimulatorRequest } from '../router.ts';
import type { CallbackSender } from './callback.ts';
import { cancelJob, createJob, hasResult, presentJob, statusOf, type Job } from './job.ts';
import type { ResultSender } from './results.ts';
import type { JobStore } from './store.ts';
import { parseSubmission } from './submission.ts';

const MAX_KEY_LENGTH = 255;

export interface JobRoutesOptions {
  readonly store: JobStore;
  /** The bearer token that clients must send; any token will do when it is undefined. */
  readonly apiKey: string | undefined;
  /** No callbacks are sent when it is undefined. */
  readonly callbacks: CallbackSender | undefined;
  readonly renderMs: number;
  readonly results: ResultSender;
}

export function jobRoutes(options: JobRoutesOptions): readonly Route[] {
  const { apiKey } = options;
  return [submitRoute(options), ...readRoutes(options), cancelRoute(options), resultRoute(options)].map((route) =>
    withCredential(route, apiKey),
  );
}

function submitRoute({ store, callbacks, renderMs }: JobRoutesOptions): Route {
  const accept = (key: string, request: SimulatorRequest): Job => {
    const submission = parseSubmission(parseJson(request));
    const { reject } = submission.directives;
    if (reject !== undefined) throw new Refusal(422, reject, 'The prompt asked for this refusal.');
    const job = createJob(key, submission, Date.now(), renderMs);
    store.add(job);
    announce(callbacks, job, job.rendersUntilMs - job.createdAtMs);
    return job;
  };

  return route('POST', '/v1/jobs', (request, response) => {
    const key = idempotencyKey(request.headers);
    const known = store.byKey(key);
    if (known) {
      known.submissions += 1;
      return sendJson(response, 200, presentJob(known, Date.now()));
    }
    const job = accept(key, request);
    if (job.submission.directives.dropSubmit) return dropConnection(response);
    if (job.submission.directives.submitError) {
      throw new Refusal(500, 'internal_error', 'The prompt asked for this error.');
    }
    sendJson(response, 201, presentJob(job, Date.now()));
  });
}

function readRoutes({ store }: JobRoutesOptions): readonly Route[] {
  return [
    route('GET', '/v1/jobs', (request, response) => {
      const job = store.byKey(request.url.searchParams.get('key') ?? '');
      sendJson(response, 200, { data: job ? [presentJob(job, Date.now())] : [] });
    }),
    route('GET', '/v1/jobs/{id}', (request, response) => {
      const job = jobOf(store, request);
      if (job.pollErrorsLeft > 0) {
        job.pollErrorsLeft -= 1;
        throw new Refusal(500, 'internal_error', 'The prompt asked for this error.');
      }
      if (job.forgetsLeft > 0) {
        job.forgetsLeft -= 1;
        throw new Refusal(404, 'not_found', 'no such job');
      }
      sendJson(response, 200, presentJob(job, Date.now()));
      if (statusOf(job, Date.now()) === 'succeeded') job.successesTold += 1;
    }),
  ];
}

function cancelRoute({ store, callbacks }: JobRoutesOptions): Route {
  return route('POST', '/v1/jobs/{id}/cancel', (request, response) => {
    const job = jobOf(store, request);
    const before = job.cancelledAtMs;
    cancelJob(job, Date.now());
    if (job.cancelledAtMs !== before) announce(callbacks, job, 0);
    sendJson(response, 200, presentJob(job, Date.now()));
  });
}

function resultRoute({ store, results }: JobRoutesOptions): Route {
  return route('GET', '/v1/jobs/{id}/results/{index}', async (request, response) => {
    const job = jobOf(store, request);
    if (!hasResult(job, request.parameters['index'] ?? '', Date.now())) {
      throw new Refusal(404, 'not_found', 'the job has no such file');
    }
    if (job.deadLinksLeft > 0) {
      job.deadLinksLeft -= 1;
      throw new Refusal(403, 'forbidden', 'the link has expired');
    }
    if (Number(request.parameters['index']) === job.submission.directives.missingFile) {
      throw new Refusal(404, 'not_found', 'the file is gone');
    }
    job.downloads += 1;
    await results.send(job, response);
  });
}

function jobOf(store: JobStore, request: SimulatorRequest): Job {
  const job = store.byId(request.parameters['id'] ?? '');
  if (!job) throw new Refusal(404, 'not_found', 'no such job');
  return job;
}

function announce(callbacks: CallbackSender | undefined, job: Job, delayMs: number): void {
  const url = job.submission.callbackUrl;
  if (url === undefined || !Number.isFinite(delayMs)) return;
  callbacks?.schedule(url, delayMs, () => presentJob(job, Date.now()));
}

function withCredential(route: Route, apiKey: string | undefined): Route {
  return {
    ...route,
    handle(request, response) {
      const [, token] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
      if (token === undefined || (apiKey !== undefined && token !== apiKey)) {
        throw new Refusal(401, 'unauthorized', 'send the credential as "Authorization: Bearer …"');
      }
      return route.handle(request, response);
    },
  };
}

function idempotencyKey(headers: IncomingHttpHeaders): string {
  const key = headers['idempotency-key'];
  if (typeof key !== 'string' || key === '' || key.length > MAX_KEY_LENGTH) {
    throw new Refusal(422, 'bad_request', `"Idempotency-Key" must have 1 to ${MAX_KEY_LENGTH} characters`);
  }
  return key;
}

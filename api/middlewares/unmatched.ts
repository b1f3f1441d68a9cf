import type { RouterInstance } from '@koa/router';
import { realtimeDisabled } from '../../domain/realtime.ts';
import { methodNotAllowed, ServiceError } from '../../domain/errors.ts';
import type { AppContext } from '../state.ts';
import { allowOrigin } from './cross-origin.ts';

const TEXT = 'Use POST /v1/chat/completions, /v1/responses or /v1/messages to generate text.';
const HISTORY =
  'Send the whole history with POST /v1/responses or /v1/chat/completions, or the latest response as previous_response_id.';
const IMAGES = 'Use POST /v1/images/tasks, /v1/images/generations or /v1/images/edits to create images.';
const VIDEOS = 'Use POST /v1/videos/tasks or /v1/videos to create videos, with or without pictures.';
const MEDIA =
  'Use POST /v1/images/tasks to create images and POST /v1/videos/tasks to create videos; GET /v1/tasks/{task_id} returns both.';
const FILES = 'Use POST /v1/files to upload a file, and send its link in media requests.';
const BATCHES = 'Use POST /v1/batches or POST /v1/messages/batches.';
const MODELS = 'Models cannot be changed: use GET /v1/models to list them.';
const SPEND = 'Use GET /v1/balance for the balance, and GET /v1/usage for the usage of each day.';
const NATIVE = 'Use POST /v1beta/models/{model}:generateContent.';

/** Calls of OpenAI whose last segment would match the id in a path of videos. */
const VIDEO_CALLS = /^\/v1\/videos\/(?:edits|extensions|characters|generations)$/;
/** The same in a path of responses. */
const RESPONSE_CALLS = /^\/v1\/responses\/compact$/;

/** Replacements for endpoints of other services that clients try, by path. The first match applies. */
const INSTEAD: readonly (readonly [path: RegExp, advice: string])[] = [
  // OpenAI
  [/^\/v1\/images(?:\/variations)?$/, IMAGES],
  [VIDEO_CALLS, VIDEOS],
  [/^\/v1\/videos?\/.*\/remix$|^\/v1\/videos\/characters\/|^\/v1\/video\//, VIDEOS],
  [/^\/v1\/(?:completions|edits|complete|engines)(?:\/|$)/, TEXT],
  [/^\/v1\/chat\/completions\/.|^\/v1\/responses\/./, HISTORY],
  [/^\/v1\/(?:assistants|threads|conversations|chatkit)(?:\/|$)|^\/v1(?:beta)?\/interactions/, HISTORY],
  [
    /^\/v1\/audio\//,
    'Use POST /v1/audio/speech, /v1/audio/transcriptions or /v1/audio/translations. GET /v1/models lists the models.',
  ],
  [/^\/v1\/(?:messages\/)?batches(?:\/|$)|:batch\w+$/, BATCHES],
  [/^\/v1\/(?:fine_tuning|fine-tunes|trainings|evals|graders)(?:\/|$)|^\/v1(?:beta)?\/tunedModels/, MODELS],
  [
    /^\/v1\/(?:vector_stores|containers|skills)(?:\/|$)|^\/v1(?:beta)?\/fileSearchStores/,
    'Data for tools is not stored: send the data with each request.',
  ],
  [/^\/v1\/uploads(?:\/|$)|^\/upload\/v1(?:beta)?\/files|^\/v1beta\/files|^\/storage\/upload\//, FILES],
  [/^\/v1\/moderation$/, 'Send texts to POST /v1/moderations.'],
  [/^\/v1\/(?:organization|dashboard|credits|account)(?:\/|$)/, SPEND],
  // Google
  [/:(?:predict|predictLongRunning|generateImages|generateVideos)$|\/operations\//, MEDIA],
  [/^\/v1(?:beta)?\/cachedContents/, 'Explicit caches are not supported: send the whole prompt with each request.'],
  [/:(?:stream)?[gG]enerateContent$|:generateAnswer$/, NATIVE],
  // fal and Replicate
  [/^\/fal-ai\/|\/requests\/|^\/v1\/predictions|\/predictions$/, MEDIA],
  [/^\/v1\/collections/, 'Use POST /v1/capabilities/search to find models, and GET /v1/models to list them.'],
  // Others, and base URLs with too much or too little
  [
    /^\/v1beta\/openai\/|\/chat\/completions$/,
    'Use POST /v1/chat/completions: the base URL of OpenAI clients ends in /v1.',
  ],
  [/^\/(?:api\/(?:chat|generate)|completions)$/, TEXT],
  [/\/rerank$/, 'Use POST /v1/rerank.'],
  [/\/embeddings$/, 'Use POST /v1/embeddings: the base URL of OpenAI clients ends in /v1.'],
  [/\/responses$/, 'Use POST /v1/responses: the base URL of OpenAI clients ends in /v1.'],
  [/\/messages$/, 'Use POST /v1/messages: the base URL of Anthropic clients ends before /v1.'],
  [/\/models$/, 'Use GET /v1/models: the base URL of OpenAI clients ends in /v1.'],
];

/** The paths of realtime sessions of OpenAI's and Google's clients. */
const REALTIME =
  /^\/v1\/realtime(?:$|\/(?:(?:sessions|transcription_sessions)(?:\/|$)|calls\/[^/]+\/[^/]+$))|^\/ws\/google\.ai\.generativelanguage\./;

const NO_SUCH_REALTIME =
  'There is no such path of realtime sessions. If GET /v1/models lists a model with the format `realtime`, use POST /v1/realtime/client_secrets, ' +
  'POST /v1/realtime/calls, or GET /v1/realtime as a WebSocket; otherwise send `stream: true` with POST /v1/chat/completions.';

/** The paths that pages of other origins request. */
const CROSS_ORIGIN = /^\/v1\/realtime\/calls(?:\/|$)/;

/** A path like `/v1beta/models/{model}:countTokens` ends in a custom method. */
const CUSTOM_METHOD = /:\w*$/;

/** Another address of the service, with paths that this address lacks. */
export interface OtherAddress {
  readonly url: string;
  readonly router: RouterInstance;
}

/**
 * Answers requests without a route: 503 for an unknown path of realtime sessions, 404 for another unknown path, with what
 * to use instead, and 405 with `Allow` for a known path and another method.
 */
export function unmatched(router: RouterInstance, other?: OtherAddress) {
  const adviceFor = ({ path, method }: AppContext): string =>
    other?.router.match(path, method).route
      ? `Send the request to ${other.url}.`
      : (INSTEAD.find(([pattern]) => pattern.test(path))?.[1] ??
        'Check the path: /docs/api of the api address lists all calls.');
  return async (context: AppContext): Promise<void> => {
    const isCustom = CUSTOM_METHOD.test(context.path);
    const layers = router.match(context.path, context.method).path.filter(({ path }) => !isCustom || isEscaped(path));
    const exact = layers.filter(({ path }) => path === context.path);
    const methods = new Set((exact.length > 0 ? exact : layers).flatMap((layer) => layer.methods));
    const isElsewhere = other?.router.match(context.path, context.method).route === true;
    if (methods.size === 0 && !isElsewhere && REALTIME.test(context.path)) throw realtimeDisabled(NO_SUCH_REALTIME);
    if (methods.size === 0 || VIDEO_CALLS.test(context.path) || RESPONSE_CALLS.test(context.path)) {
      throw new ServiceError('not_found', `There is no ${context.method} ${context.path}. ${adviceFor(context)}`);
    }
    const allowed = [...methods].toSorted().join(', ');
    if (context.method === 'OPTIONS') {
      if (CROSS_ORIGIN.test(context.path)) allowOrigin(context, allowed);
      context.set('Allow', allowed);
      context.status = 204;
      return;
    }
    throw methodNotAllowed(context.method, context.path, allowed);
  };
}

/** Whether the path of a route names a custom method, whose colon is escaped. */
function isEscaped(path: string | RegExp): boolean {
  return String(path).includes(String.raw`\:`);
}

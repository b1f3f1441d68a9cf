import type { RouterInstance } from '@koa/router';
import { methodNotAllowed, ServiceError } from '../../domain/errors.ts';
import type { AppContext } from '../state.ts';

/** What to use instead of endpoints of other services that clients try, by their paths. */
const INSTEAD: readonly (readonly [path: RegExp, advice: string])[] = [
  [
    /^\/v1\/images\/variations$/,
    'Images are created by POST /v1/images/tasks, /v1/images/generations or /v1/images/edits.',
  ],
  [/^\/v1\/videos\/.*\/remix$/, 'Videos are created by POST /v1/videos/tasks or /v1/videos.'],
  [/^\/v1\/completions$/, 'Text is created by POST /v1/chat/completions.'],
  [/^\/v1\/(?:assistants|threads|conversations)(?:\/|$)/, 'Send the whole conversation with POST /v1/responses.'],
  [/^\/v1\/responses\/./, 'Responses are not stored; send the whole conversation with POST /v1/responses.'],
  [/:countTokens$/, 'Tokens are counted by POST /v1/messages/count_tokens or /v1/responses/input_tokens.'],
];

/** A path like `/v1beta/models/{model}:countTokens` ends in a method of its own. */
const CUSTOM_METHOD = /:\w*$/;

/** Answers requests without a route: 404 for an unknown path, 405 with `Allow` for a known path and another method. */
export function unmatched(router: RouterInstance) {
  return async (context: AppContext): Promise<void> => {
    const isCustom = CUSTOM_METHOD.test(context.path);
    const layers = router.match(context.path, context.method).path.filter(({ path }) => !isCustom || isEscaped(path));
    const methods = new Set(layers.flatMap((layer) => layer.methods));
    if (methods.size === 0) {
      const [, advice] = INSTEAD.find(([path]) => path.test(context.path)) ?? [null, 'Check the path.'];
      throw new ServiceError('not_found', `There is no ${context.method} ${context.path}. ${advice}`);
    }
    const allowed = [...methods].toSorted().join(', ');
    if (context.method === 'OPTIONS') {
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

/** A request before the visitor is authenticated. */
import type { ApiServices } from '../api/services.ts';
import type { Context } from '../api/state.ts';
import { ATTEMPT_COOKIE } from '../services/people/provider-sign-in.ts';
import { Form } from './form.ts';
import type { Visit } from './page.ts';
import { preferredLanguage, textsIn } from './texts/texts.ts';

/** Holds the page on which a session ended. */
export const BACK_COOKIE = '__Host-genway-back';

export function anonymousVisit(context: Context, { site }: Pick<ApiServices, 'site'>): Visit {
  return {
    params: context.params,
    query: context.state.query,
    path: withoutSlash(context.path),
    texts: textsIn(preferredLanguage(context.get('accept-language'), site), site.name),
    site,
    requestId: context.state.requestId,
    ip: context.ip,
    userAgent: context.get('user-agent'),
    isPartRequest: context.get('hx-request') === 'true',
    form: new Form(),
    context,
    attempt: context.cookies.get(ATTEMPT_COOKIE) ?? null,
    back: pathBelow(context.cookies.get(BACK_COOKIE)),
    problem: null,
    session: null,
    memberships: [],
  };
}

/** Removes the slash at the end of a path, which the router also accepts. */
function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Returns the path in a cookie, which callers append to the path of the console; empty if it is missing or invalid. */
export function pathBelow(token: string | undefined): string {
  try {
    const path = decodeURIComponent(token ?? '');
    return /^\/[!-~]*$/.test(path) ? path : '';
  } catch {
    return '';
  }
}

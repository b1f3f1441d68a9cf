/** Serves the pages with Koa: authenticates visitors, refuses forged forms, and turns responses and errors into HTTP. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Router } from '@koa/router';
import { retryOnLostConnection, isUnavailable } from '../db/connections.ts';
import type { Database } from '../db/database.ts';
import { recordAdminAction } from '../db/queries/admin-tokens.ts';
import { listMemberships, type Membership } from '../db/queries/users.ts';
import { ServiceError, toServiceError } from '../domain/errors.ts';
import { hasMemberPermission, hasStaffPermission } from '../domain/roles.ts';
import { isStorable } from '../domain/storable-text.ts';
import type { ApiServices } from '../api/services.ts';
import type { Context, RequestState } from '../api/state.ts';
import { withAccountNames } from './account-names.ts';
import { assets, siteAssets } from './assets.ts';
import { Form, readForm, readFormWithFile } from './form.ts';
import { allowCaptcha } from './html/captcha.tsx';
import { ErrorContent } from './html/error.tsx';
import { render, type SignedIn } from './html/layout.tsx';
import { findEarlierOutcome, formToSend, once, statusOf } from './idempotent-forms.ts';
import {
  type Cookie,
  type Done,
  doneBy,
  type DrawnResult,
  everybody,
  isDone,
  type PageResult,
  type Page,
  showPage,
  showPart,
  type UserVisit,
  type Visit,
} from './page.ts';
import { findPage, PAGES } from './pages.ts';
import { mountPublicPages } from './public/serve.tsx';
import { ATTEMPT_COOKIE, ATTEMPT_LIFETIME_SECONDS } from '../services/people/provider-sign-in.ts';
import { findSession, isFormToken, SESSION_COOKIE, SESSION_LIFETIME_SECONDS } from '../services/people/sessions.ts';
import { textsIn } from './texts/texts.ts';
import { anonymousVisit, BACK_COOKIE, pathBelow } from './visit.ts';
import { parseUrl } from '../domain/parse-url.ts';

const PREFIX = '/console';
const BACK_LIFETIME_SECONDS = 15 * 60;
/** Longer than the path of any form: a few names and at most four ids. */
const MAX_FORM_PATH = 300;
const MAX_BACK_LENGTH = 1_000;
const DONE_COOKIE = '__Host-genway-done';
/** Longer than the redirect after a form takes. */
const DONE_LIFETIME_SECONDS = 20;
/** The accepted values of the header that browsers set: https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header */
const OWN_SITES: readonly unknown[] = ['same-origin', 'none', undefined, ''];

/** Adds the routes below `/console`, and the status page, to a router. */
export function mountConsole(router: Router<RequestState>, services: ApiServices): void {
  const headers = headersFor(services);
  const handle = (context: Context, page: Page) => {
    context.set(headers);
    return serve(context, page, services);
  };
  assets(router);
  siteAssets(router, services);
  mountPublicPages(router, services);
  for (const page of PAGES) {
    const path = page.path.replaceAll(/\{(\w+)\}/g, ':$1');
    router[page.method](`${PREFIX}${path}`, (context) => handle(context, page));
  }
  router.get(`${PREFIX}/{*rest}`, (context) => handle(context, NOTHING_HERE));
}

const NOTHING_HERE = everybody.page('/', () => {
  throw nothingHere();
});

async function serve(context: Context, page: Page, services: ApiServices): Promise<void> {
  context.state.endpoint = { path: `${PREFIX}${page.path}`, tag: 'Service' };
  let visit = anonymousVisit(context, services);
  try {
    refuseOtherSites(context);
    refuseUnstorable(visit);
    visit = await withSession(context, visit, services);
    const { sent, result } = await answerOf(page, visit, services);
    await send(context, sent, result);
  } catch (error) {
    await sendError(context, visit, error, services);
  }
}

async function withSession(context: Context, visit: Visit, { database, site }: ApiServices): Promise<Visit> {
  const token = context.cookies.get(SESSION_COOKIE);
  const session = await retryOnLostConnection(() => findSession(database, token));
  if (!session) return visit;
  const known = { ...visit, session, texts: textsIn(session.user.language, site.name) };
  if (session.secondFactorPending) return known;
  return { ...known, memberships: await retryOnLostConnection(() => listMemberships(database, session.user.id)) };
}

/** The response of a page, and the visit with the sent form. */
interface Answer {
  readonly sent: Visit;
  readonly result: PageResult;
}

async function answerOf(page: Page, visit: Visit, services: ApiServices): Promise<Answer> {
  if (page.method === 'get') return { sent: visit, result: await runOpened(await open(page, visit, services)) };
  if (page.maxFileBytes !== undefined) {
    // Reads the file only if the visitor may send the form.
    const opened = await open(page, visit, services);
    if (typeof opened !== 'function') return { sent: visit, result: opened };
  }
  const sent = { ...visit, form: await formOf(page, visit.context.req) };
  return { sent, result: await resultOfForm(page, sent, services) };
}

async function formOf({ maxFileBytes, receives }: Page, request: IncomingMessage): Promise<Form> {
  if (maxFileBytes !== undefined) return readFormWithFile(request, maxFileBytes);
  return receives === 'file' ? new Form() : readForm(request);
}

/** Accepts a form only with the token of its session, and does its work once. */
async function resultOfForm(page: Page, visit: Visit, services: ApiServices): Promise<PageResult> {
  const form = page.isRepeatable ? null : formToSend(page, visit);
  // Precedes the check of the session, since the first request may have opened a new session, such as a sign-in.
  const earlier = form && (await findEarlierOutcome(visit, services, form));
  if (earlier) return earlier;
  const token = page.receives === 'file' ? visit.context.get('x-form-token') : visit.form.exact('form_token');
  if (visit.session && !isFormToken(visit.session, token)) throw forgedForm();
  const opened = await open(page, visit, services);
  if (form === null || typeof opened !== 'function') return runOpened(opened);
  return once(visit, services, form, opened);
}

function runOpened(opened: Opened): PageResult | Promise<PageResult> {
  return typeof opened === 'function' ? opened() : opened;
}

/** Refuses forms of other sites by the browser's headers, since a visitor without a session has no session token. */
function refuseOtherSites(context: Context): void {
  if (context.method === 'GET' || context.method === 'HEAD') return;
  if (!OWN_SITES.includes(context.get('sec-fetch-site'))) throw forgedForm();
}

/** Refuses text that PostgreSQL cannot store, and therefore cannot search for. */
function refuseUnstorable({ params, query }: Visit): void {
  if (![...Object.values(params), ...query.values()].every(isStorable)) throw nothingHere();
}

/** The work of a page, or the redirect of a visitor without a session. */
type Opened = PageResult | (() => PageResult | Promise<PageResult>);

async function open(page: Page, visit: Visit, services: ApiServices): Promise<Opened> {
  if (page.access === 'everybody') return () => page.handle(visit, services);
  const { session } = visit;
  if (!session || session.secondFactorPending) {
    return { kind: 'redirect', path: '/sign-in', back: { token: openPageOf(visit) } };
  }
  const userVisit: UserVisit = { ...visit, session, user: session.user };
  if (page.access === 'user') return () => page.handle(userVisit, services);
  if (page.access === 'staff') {
    const { staffRole } = session.user;
    if (staffRole === null) throw nothingHere();
    if (!hasStaffPermission(staffRole, page.permission)) throw notForRole();
    return async () => {
      if (page.method === 'post') await noteStaffAction(services.database, page, userVisit);
      const result = await page.handle(userVisit, services);
      const { account_id: accountId } = visit.params;
      if (accountId === undefined || result.kind !== 'page') return result;
      return withAccountNames(services.database, [accountId], result);
    };
  }
  const account = visit.memberships.find(({ accountId }) => accountId === visit.params['account_id']);
  if (!account) throw nothingHere();
  if (!hasMemberPermission(account.role, page.permission)) throw notForRole();
  if (page.method === 'post' && account.mergedInto !== null) throw onlyToRead(account.mergedInto);
  return () => page.handle({ ...userVisit, account }, services);
}

/** Records the action of an operator, like the actions of callers of the administration. */
async function noteStaffAction(
  database: Database,
  page: Page,
  { user, path, form, requestId }: UserVisit,
): Promise<void> {
  const action = `console ${page.path}`;
  const reason = form.text('reason') || null;
  await recordAdminAction(database, { author: user.email, tokenId: null, action, path, reason, requestId });
}

async function send(context: Context, visit: Visit, result: PageResult): Promise<void> {
  if ('session' in result) setCookie(context, SESSION_COOKIE, result.session, SESSION_LIFETIME_SECONDS);
  if ('attempt' in result) setCookie(context, ATTEMPT_COOKIE, result.attempt, ATTEMPT_LIFETIME_SECONDS);
  if ('back' in result) setCookie(context, BACK_COOKIE, result.back, BACK_LIFETIME_SECONDS);
  switch (result.kind) {
    case 'page':
    case 'part':
      context.status = statusOf(result, visit);
      context.type = 'html';
      context.body = draw(visit, result);
      if (result.captcha !== undefined) context.set(POLICY, allowCaptcha(context.response.get(POLICY), result.captcha));
      if (justDone(visit) !== null && result.kind === 'page') setCookie(context, DONE_COOKIE, 'end', 0);
      return;
    case 'file':
      context.attachment(result.name);
      context.type = result.type;
      context.body = Readable.from(result.body);
      return;
    case 'sent':
      return;
    case 'redirect': {
      const done = doneBy(result);
      if (context.method === 'POST' && visit.session && !result.session && done !== null) {
        setCookie(context, DONE_COOKIE, { token: done }, DONE_LIFETIME_SECONDS);
      }
      return redirect(`${PREFIX}${result.path}`, visit);
    }
    case 'leave':
      redirect(result.url, visit);
  }
}

/** Redirects the browser. In a request for a part of a page, htmx opens the address in place of the page. */
function redirect(address: string, { context, isPartRequest }: Visit): void {
  context.status = isPartRequest ? 204 : 303;
  context.set(isPartRequest ? 'HX-Redirect' : 'Location', address);
  context.body = isPartRequest ? null : '';
}

/** The path of the page in the browser. A form, or a request for a part of the page, has the path in its headers. */
function openPageOf({ context, isPartRequest }: Visit): string {
  const isPage = context.method === 'GET' && !isPartRequest;
  const open = isPage ? context.url : context.get('hx-current-url') || context.get('referer');
  // The host does not matter: only the path is used.
  const url = parseUrl(open, 'http://console');
  const path = url === null ? '' : url.pathname + url.search;
  const isShort = path.length <= MAX_BACK_LENGTH;
  return isShort && path.startsWith(`${PREFIX}/`) ? encodeURIComponent(path.slice(PREFIX.length)) : '';
}

/** The address of the page with the form that was sent to the visit's path, below the console. */
function pageOfForm(visit: Visit): string {
  const open = pathBelow(openPageOf(visit));
  const [openPath = ''] = open.split('?');
  const sentTo = visit.path.slice(PREFIX.length);
  // Each part costs a search of all pages, so a path of thousands of parts would stop the process for a while.
  if (sentTo.length > MAX_FORM_PATH) return '';
  for (let path = sentTo; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) {
    if (findPage(path) !== undefined) return path === openPath ? open : path;
  }
  return '';
}

/** What the form before this page did; null if no form was sent. */
function justDone({ context }: Visit): Done | null {
  const token = context.method === 'GET' ? context.cookies.get(DONE_COOKIE) : undefined;
  return isDone(token) ? token : null;
}

function draw(visit: Visit, result: DrawnResult): string {
  const isBare = result.kind === 'page' && result.bare === true;
  return render(result, result.refused ?? visit, {
    signedIn: isBare ? null : signedInOf(visit),
    done: justDone(visit),
  });
}

/** Returns null for a visitor without a session or with a pending second factor, who sees no navigation. */
function signedInOf(visit: Visit): SignedIn | null {
  const { session, memberships } = visit;
  if (!session || session.secondFactorPending) return null;
  return { user: session.user, memberships, account: accountOf(visit) };
}

/** The account of the page. A page without an account shows the first membership. */
function accountOf({ memberships, params }: Visit): Membership | null {
  return memberships.find(({ accountId }) => accountId === params['account_id']) ?? memberships[0] ?? null;
}

function setCookie(context: Context, name: string, value: Cookie | undefined, lifetimeSeconds: number): void {
  if (value === undefined) return;
  const [token, seconds] = value === 'end' ? ['', 0] : [value.token, lifetimeSeconds];
  // Koa's own cookies refuse `Secure` behind a TLS proxy. Browsers accept `Secure` over plain HTTP from this machine.
  context.append('Set-Cookie', `${name}=${token}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${seconds}`);
}

async function sendError(context: Context, visit: Visit, error: unknown, services: ApiServices): Promise<void> {
  const shown = toServiceError(error);
  const isOurs = shown.code === 'internal_error' || isUnavailable(error);
  // Does not log the path: the path of an invitation grants access.
  const asked = { request_id: visit.requestId, page: context.state.endpoint?.path };
  if (isOurs) services.log.error({ err: error, ...asked }, 'could not serve a page');
  const status = isUnavailable(error) ? 503 : shown.status;
  const { texts, requestId } = visit;
  const content = ErrorContent({ texts, status, error: shown, requestId, formPage: PREFIX + pageOfForm(visit) });
  const page = { ...showPage(titleOf(visit, status), content), status };
  await send(context, visit, visit.isPartRequest ? showPart(content, status) : page);
}

function titleOf({ texts: { errors, sentForms } }: Visit, status: number): string {
  if (status === 404) return errors.notFoundTitle;
  if (status === 403) return errors.forbiddenTitle;
  if (status === 409) return sentForms.title;
  return status >= 500 ? errors.failedTitle : errors.formTitle;
}

const POLICY = 'Content-Security-Policy';

/** OWASP's HTTP headers. Scripts and styles come only from this origin, and results from the origin of stored files. */
function headersFor({ storage, money: { checkout } }: ApiServices): Readonly<Record<string, string>> {
  const media = ["'self'", 'data:', 'blob:', new URL(storage.urlOf('results')).origin].join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    `img-src ${media}`,
    `media-src ${media}`,
    "connect-src 'self'",
    // The form for adding funds redirects to the payment page.
    `form-action ${["'self'", ...(checkout ? [checkout.origin] : [])].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    [POLICY]: policy.join('; '),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  };
}

function nothingHere(): ServiceError {
  return new ServiceError('not_found', 'There is no such page.');
}

function notForRole(): ServiceError {
  return new ServiceError('forbidden', 'Your role does not include this.');
}

function onlyToRead(mergedInto: string): ServiceError {
  return new ServiceError('forbidden', `The account was merged into ${mergedInto}, and can only be read.`);
}

function forgedForm(): ServiceError {
  return new ServiceError('forbidden', 'This form was not made for this session.');
}

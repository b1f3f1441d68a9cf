/**
 * Makes forms idempotent: two clicks, a reload, the back button or a lost response do not repeat the work. Each page
 * gives its form a new id, from which the ids of created transfers derive. A browser that sends the form again gets the
 * outcome of the first request. The content that answers a form is stored for a while at its own address, so that a
 * reload does not lose a secret.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { raw } from 'hono/html';
import type { ApiServices } from '../api/services.ts';
import { retryOnLostConnection } from '../db/connections.ts';
import {
  completeSentForm,
  deleteSentForm,
  findSentForm,
  insertSentForm,
  type SentForm,
} from '../db/queries/sent-forms.ts';
import { badRequest, ServiceError } from '../domain/errors.ts';
import { createdAtMsOf, derivedId, type IdKind, isId } from '../domain/ids.ts';
import { isObject } from '../domain/json.ts';
import { doneText, renderContent } from './html/layout.tsx';
import { FormError, SentBeforeError } from './form-problem.ts';
import { type Cookie, type Done, doneBy, isDone, type PageResult, type Page, showPage, type Visit } from './page.ts';

/** A form is valid as long as it is remembered: see `db/sweeps.ts`. */
const FORM_LIFETIME_MS = 86_400_000;
const MAX_CLOCK_SKEW_MS = 60_000;
/** The pauses between reads of the first request's outcome, for a browser that sent a form twice. */
const PAUSES_MS = [50, 50, 100, 100, 200, 200, 300, ...Array<number>(18).fill(500)];

/** The form of a visit: the id from its page, and the digest of its content. */
export interface FormToSend {
  readonly id: string;
  readonly digest: Buffer;
}

const KEPT_KINDS = ['redirect', 'part', 'page', 'unknown'] as const;

/** The stored part of a response. */
interface StoredResult {
  readonly kind: (typeof KEPT_KINDS)[number];
  /** The address that the browser opens next. */
  readonly to: string;
  readonly title: string;
  /** The HTML of the content. */
  readonly html: string;
  /** What the page that opens next says; null for nothing. */
  readonly done: Done | null;
  /** The cookies that the response sets or removes. */
  readonly session: Cookie | null;
  readonly attempt: Cookie | null;
}

/** The outcome is unknown: the work may have been done. */
const UNKNOWN: StoredResult = {
  kind: 'unknown',
  to: '',
  title: '',
  html: '',
  done: null,
  session: null,
  attempt: null,
};

/** @throws ServiceError `bad_request` for a form without an id, or that is too old */
export function formToSend(page: Page, { context, form, path, texts }: Visit): FormToSend {
  const id = page.receives === 'file' ? context.get('x-form-id') : form.exact('form_id');
  if (!isId('form', id)) throw badRequest('The form has no id. Open its page again, and send the form from there.');
  const ageMs = Date.now() - createdAtMsOf('form', id);
  if (ageMs > FORM_LIFETIME_MS || ageMs < -MAX_CLOCK_SKEW_MS) throw new FormError(texts.sentForms.expired);
  return { id, digest: createHash('sha256').update(`${path}\n${form.toString()}\n`).update(form.file).digest() };
}

/** Returns the id of the object that a form creates at most once. */
export function createdIdOf(kind: IdKind, { form }: Visit): string {
  return derivedId(kind, form.exact('form_id'));
}

/** Returns the outcome of an earlier request with the form, or null for a new form. Waits for a request in progress. */
export async function findEarlierOutcome(
  visit: Visit,
  services: ApiServices,
  form: FormToSend,
): Promise<PageResult | null> {
  const { database } = services;
  let found = await retryOnLostConnection(() => findSentForm(database, form.id));
  for (const pauseMs of PAUSES_MS) {
    if (!found || found.encryptedAnswer) break;
    await sleep(pauseMs);
    found = await retryOnLostConnection(() => findSentForm(database, form.id));
  }
  if (!found) return null;
  const { sentForms: messages } = visit.texts;
  const kept = keptIn(found, form.id, services);
  if (!kept || kept.kind === 'unknown') throw new SentBeforeError(messages.unknown);
  if (!found.digest.equals(form.digest)) {
    // Another user learns nothing about the outcome.
    const shown = found.userId !== null && found.userId === visit.session?.user.id ? kept : UNKNOWN;
    throw new SentBeforeError(
      messages.otherEntries(shown.done && doneText(shown.done, visit.texts)),
      addressOf(shown, form.id),
    );
  }
  // A browser with a session keeps its session. A stored page expires.
  return toResult(kept, form.id, visit.session === null && found.isRecent);
}

/** Runs the work of a form, unless the form was sent before. A refused form can be sent again. */
export async function once(
  visit: Visit,
  services: ApiServices,
  form: FormToSend,
  act: () => PageResult | Promise<PageResult>,
): Promise<PageResult> {
  const { database, encryption } = services;
  if (!(await insertSentForm(database, form.id, form.digest))) {
    return (await findEarlierOutcome(visit, services, form)) ?? once(visit, services, form, act);
  }
  const keep = async (kept: StoredResult, contentOf: string | null = null): Promise<void> => {
    const userId = kept.session === null ? (visit.session?.user.id ?? null) : null;
    const encryptedAnswer = encryption.encrypt(JSON.stringify(kept), form.id);
    // If this write fails, the missing answer also means that the outcome is unknown.
    const completed = retryOnLostConnection(() =>
      completeSentForm(database, form.id, { userId, encryptedAnswer, contentOf }),
    );
    await (kept.kind === 'unknown' ? completed.catch(() => undefined) : completed);
  };
  const result = await Promise.resolve()
    .then(act)
    .catch(async (error: unknown) => {
      if (error instanceof ServiceError && error.status < 500) await deleteSentForm(database, form.id);
      else await keep(UNKNOWN);
      throw error;
    });
  if (statusOf(result, visit) >= 400) {
    await deleteSentForm(database, form.id);
    return result;
  }
  const kept = toKept(result, visit);
  await keep(kept, 'contentOf' in result ? result.contentOf : null);
  return kept.kind === 'page' ? toResult(kept, form.id, true) : result;
}

/** Shows the page that answered a form to its user. @throws ServiceError `not_found` for others; 409 once it expired */
export async function showOutcome({ params, session, texts }: Visit, services: ApiServices): Promise<PageResult> {
  const { form_id: formId = '' } = params;
  const found = await findSentForm(services.database, formId);
  const userId = session && !session.secondFactorPending ? session.user.id : null;
  const kept = found && (found.userId === null || found.userId === userId) ? keptIn(found, formId, services) : null;
  if (!found || kept?.kind !== 'page') throw new ServiceError('not_found', 'There is no such page.');
  if (!found.isRecent) throw new SentBeforeError(texts.sentForms.over);
  return showPage(kept.title, raw(kept.html));
}

/** The HTTP status of a response. */
export function statusOf(result: PageResult, { context }: Visit): number {
  if (result.kind === 'sent') return context.status;
  if (result.kind !== 'page' && result.kind !== 'part') return 200;
  return result.status ?? result.refused?.problem?.status ?? 200;
}

function toKept(result: PageResult, visit: Visit): StoredResult {
  const session = 'session' in result ? result.session : undefined;
  const attempt = 'attempt' in result ? result.attempt : undefined;
  const kept = { ...UNKNOWN, session: session ?? null, attempt: attempt ?? null };
  switch (result.kind) {
    case 'redirect':
      return { ...kept, kind: 'redirect', to: result.path, done: doneBy(result) };
    case 'page':
      return { ...kept, kind: 'page', title: result.title, html: renderContent(result, visit) };
    case 'part':
      return { ...kept, kind: 'part', html: renderContent(result, visit) };
    default:
      return kept;
  }
}

/** @param canSetCookies whether to set the cookies of the stored response */
function toResult(kept: StoredResult, formId: string, canSetCookies: boolean): PageResult {
  if (kept.kind === 'part') return { kind: 'part', content: raw(kept.html) };
  const next = { kind: 'redirect', path: addressOf(kept, formId), done: kept.done } as const;
  if (!canSetCookies) return next;
  return {
    ...next,
    ...(kept.session !== null && { session: kept.session }),
    ...(kept.attempt !== null && { attempt: kept.attempt }),
  };
}

/** The path of the page that answers a form, below the console; empty if the answer is a part of a page. */
function addressOf({ kind, to }: StoredResult, formId: string): string {
  return kind === 'page' ? `/outcomes/${formId}` : to;
}

function keptIn({ encryptedAnswer }: SentForm, formId: string, { encryption }: ApiServices): StoredResult | null {
  if (!encryptedAnswer) return null;
  const kept: unknown = JSON.parse(encryption.decrypt(encryptedAnswer, formId));
  return isKept(kept) ? kept : null;
}

function isKept(value: unknown): value is StoredResult {
  if (!isObject(value)) return false;
  const { kind, to, title, html, done, session, attempt } = value;
  return (
    KEPT_KINDS.some((known) => known === kind) &&
    typeof to === 'string' &&
    typeof title === 'string' &&
    typeof html === 'string' &&
    (done === null || isDone(done)) &&
    (session === null || isCookie(session)) &&
    (attempt === null || isCookie(attempt))
  );
}

function isCookie(cookie: unknown): boolean {
  return cookie === 'end' || (isObject(cookie) && typeof cookie['token'] === 'string');
}

/**
 * One definition for each page of the console: its path, its access, and its handler. `console/pages.ts` lists all pages.
 * `console/serve.ts` authenticates the visitor before the handler runs.
 */
import type { Child } from 'hono/jsx';
import type { CaptchaProvider } from '../catalogue/signup.ts';
import type { Site } from '../catalogue/site.ts';
import type { Membership, User } from '../db/queries/users.ts';
import { ServiceError } from '../domain/errors.ts';
import type { PicoUsd } from '../domain/money.ts';
import {
  hasMemberPermission,
  hasStaffPermission,
  type MemberPermission,
  type StaffPermission,
} from '../domain/roles.ts';
import type { Context } from '../api/state.ts';
import type { ApiServices } from '../api/services.ts';
import type { Form } from './form.ts';
import { isFormError } from './form-problem.ts';
import type { OpenSession } from '../services/people/sessions.ts';
import type { Texts } from './texts/texts.ts';

/** A request for a page. */
export interface Visit {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The path of the page. A refused form has the path of its page. */
  readonly path: string;
  readonly texts: Texts;
  readonly site: Site;
  readonly requestId: string;
  /** The client's IP address. */
  readonly ip: string;
  readonly userAgent: string;
  /** Whether htmx requests a part of a page. */
  readonly isPartRequest: boolean;
  /** The fields of the sent form; empty for a GET request. */
  readonly form: Form;
  /** The HTTP exchange, for uploads and streamed responses. */
  readonly context: Context;
  /** The token of the browser's sign-in with the provider, while the sign-in is in progress. */
  readonly attempt: string | null;
  /** The path of the page on which the user's session ended; empty if none. */
  readonly back: string;
  /** Why the form of the page was refused; null if it was not. */
  readonly problem: ServiceError | null;
  /** Null for visitors who have not signed in. */
  readonly session: OpenSession | null;
  readonly memberships: readonly Membership[];
}

/** A request by a user who has signed in. */
export interface UserVisit extends Visit {
  readonly session: OpenSession;
  readonly user: User;
}

/** A request by a member of the page's account. */
export interface MemberVisit extends UserVisit {
  readonly account: Membership;
}

/** The names in `texts.done`. */
const DONE = [
  'saved',
  'viewSaved',
  'accountCreated',
  'priceListCreated',
  'deleted',
  'removed',
  'secondFactorRemoved',
  'enabled',
  'disabled',
  'suspended',
  'reopened',
  'paused',
  'resumed',
  'cancelling',
  'batchCancelling',
  'batchPaused',
  'batchResumed',
  'batchRetrying',
  'claimed',
  'disconnected',
  'signedOut',
  'stopped',
  'erasing',
  'testSent',
  'redelivering',
  'booked',
  'waits',
  'approved',
  'merging',
  'confirmed',
  'rejected',
  'withdrawn',
  'redeemed',
  'giftsApproved',
  'giftsWithdrawn',
  'invitationWithdrawn',
  'acknowledged',
  'reconciling',
  'imported',
  'closed',
  'applied',
  'versionCreated',
  'passwordChanged',
  'addressesAsked',
  'registrationApproved',
  'registrationRejected',
  'blocked',
  'lifted',
] as const;
type DoneName = (typeof DONE)[number];
/** What a form did, as the next page says it: a name in `texts.done`, with the amount of its text in pico-USD. */
export type Done = DoneName | `${DoneName}:${bigint}`;

/** The name and the amount of what a form did. */
export function partsOfDone(done: Done): { readonly name: DoneName; readonly amount: PicoUsd } {
  const [word, amount = '0'] = done.split(':');
  return { name: DONE.find((known) => known === word) ?? 'saved', amount: BigInt(amount) };
}

/** The fields of results that are drawn. */
interface Drawn {
  readonly content: Child;
  readonly status?: number;
  /** The names of accounts by their ids: see `withAccountNames`. */
  readonly accountNames?: ReadonlyMap<string, string>;
  /** The account whose content the answer to a form shows: see `db/queries/content.ts`. */
  readonly contentOf?: string;
  /** The visit of a refused form, whose page is shown again. */
  readonly refused?: Visit;
  /** The service whose script the page loads. */
  readonly captcha?: CaptchaProvider | undefined;
}

/** The response of a page. */
export type PageResult =
  | (Cookies &
      Drawn & {
        readonly kind: 'page';
        readonly title: string;
        /** Hides the navigation, for visitors who have not signed in. */
        readonly bare?: boolean;
      })
  /** A part that htmx puts into the page. */
  | (Drawn & { readonly kind: 'part' })
  /**
   * The browser opens a path of the console. After a form, the page says what was done, by default "Saved". Null if the
   * page shows the result by itself.
   */
  | (Cookies & { readonly kind: 'redirect'; readonly path: string; readonly done?: Done | null })
  /** The browser opens the OpenID provider. */
  | (Cookies & { readonly kind: 'leave'; readonly url: string })
  /** A file that the browser saves, streamed. */
  | {
      readonly kind: 'file';
      readonly name: string;
      readonly type: string;
      readonly body: AsyncIterable<string | Uint8Array>;
    }
  /** The page has already sent its response as a stream. */
  | { readonly kind: 'sent' };

/** A result that is drawn. */
export type DrawnResult = Extract<PageResult, { kind: 'page' | 'part' }>;

export type Cookie = { readonly token: string } | 'end';

/** The cookies that a response sets or removes. */
interface Cookies {
  readonly session?: Cookie;
  readonly attempt?: Cookie;
  /** The page to which the browser returns after a sign-in. */
  readonly back?: Cookie;
}

export function showPart(content: Child, status = 200): Extract<PageResult, { kind: 'part' }> {
  return { kind: 'part', content, status };
}

export function showPage(title: string, ...content: Child[]): Extract<PageResult, { kind: 'page' }> {
  return { kind: 'page', title, content };
}

/** Returns the object that a page shows. @throws ServiceError `not_found` */
export function requireFound<Thing>(thing: Thing | null | undefined): Thing {
  if (thing === null || thing === undefined)
    throw new ServiceError('not_found', 'The page was not found. Check the address.');
  return thing;
}

interface Definition {
  readonly method: 'get' | 'post';
  /** The path below `/console`, with parameters in braces. */
  readonly path: string;
  /** The body of the request is a form by default. An upload has its tokens in `x-form-token` and `x-form-id`. */
  readonly receives?: 'file';
  /** For a form with a file: the maximum size of the file. */
  readonly maxFileBytes?: number;
  /** For a form that only reads or signs out, whose work may be repeated. The work of every other form is done once. */
  readonly isRepeatable?: true;
}

type Handle<By extends Visit> = (visit: By, services: ApiServices) => PageResult | Promise<PageResult>;

/** Who may see a page: everybody, users who have signed in, members of the account in the path, or operators. */
type Access =
  | { readonly access: 'everybody'; readonly handle: Handle<Visit> }
  | { readonly access: 'user'; readonly handle: Handle<UserVisit> }
  | { readonly access: 'member'; readonly permission: MemberPermission; readonly handle: Handle<MemberVisit> }
  | { readonly access: 'staff'; readonly permission: StaffPermission; readonly handle: Handle<UserVisit> };

export type Page = Definition & Access;

/** A page with forms. */
type FormPage<By extends Visit, Permission> = Page & {
  /**
   * Defines a form of the page. If the form is refused, the page is shown again, with the reason.
   *
   * @param below the form's path below the path of the page
   * @param act the work, which throws a ServiceError to refuse the form
   * @param next the result to show afterwards, or the path of the console to open, or what the form did, which the page
   *   says; by default, the page says "Saved"
   */
  readonly form: <Made>(
    below: string,
    permission: Permission,
    act: (visit: By, services: ApiServices) => Made | Promise<Made>,
    next?: Done | ((visit: By, made: Made) => PageResult | string),
  ) => Page;
};

/** @param prefix the start of all paths */
function definers<By extends Visit, Permission>(
  accessOf: (permission: Permission, handle: Handle<By>) => Access,
  prefix = '',
) {
  const form = (path: string, permission: Permission, handle: Handle<By>): Page => ({
    ...accessOf(permission, handle),
    method: 'post',
    path: prefix + path,
  });
  const page = (path: string, permission: Permission, handle: Handle<By>): FormPage<By, Permission> => ({
    ...accessOf(permission, handle),
    method: 'get',
    path: prefix + path,
    form: (below, permission, act, next = 'saved') =>
      form(path + below, permission, async (visit, services) => {
        const address = filled(prefix + path, visit);
        try {
          const made = await act(visit, services);
          const shown = typeof next === 'string' ? next : next(visit, made);
          if (typeof shown !== 'string') return shown;
          return isDone(shown) ? { kind: 'redirect', path: address, done: shown } : { kind: 'redirect', path: shown };
        } catch (problem) {
          // An object in the form's path does not exist, which shows the page for 404.
          const isUnknown = below.includes('{') && isFormError(problem) && problem.code === 'not_found';
          if (!isFormError(problem) || isUnknown) throw problem;
          const refused = { ...visit, problem, path: `/console${address}` };
          return { ...(await handle(refused, services)), refused };
        }
      }),
  });
  return { page, form };
}

const DONE_FORMAT = new RegExp(`^(?:${DONE.join('|')})(?::-?\\d{1,30})?$`);

export function isDone(word: unknown): word is Done {
  return typeof word === 'string' && DONE_FORMAT.test(word);
}

/** Opens a page, which says what the form did. */
export function openPage(path: string, done: Done | null): Extract<PageResult, { kind: 'redirect' }> {
  return { kind: 'redirect', path, done };
}

/** What the page after a form says: by default "Saved"; null for nothing. */
export function doneBy({ done = 'saved' }: { readonly done?: Done | null }): Done | null {
  return done;
}

/**
 * Returns a function that defines forms of a page which change one object.
 *
 * @param find reads the object; throws a ServiceError to refuse the form
 */
export function formsOver<By extends Visit, Permission, Subject>(
  page: FormPage<By, Permission>,
  permission: Permission,
  find: (visit: By, services: ApiServices) => Promise<Subject>,
) {
  return (
    below: string,
    act: (visit: By, services: ApiServices, subject: Subject) => Promise<unknown>,
    done?: Done,
  ): Page =>
    page.form(below, permission, async (visit, services) => act(visit, services, await find(visit, services)), done);
}

function withoutPermission<By extends Visit>(accessOf: (handle: Handle<By>) => Access) {
  const { page, form } = definers((_: null, handle: Handle<By>) => accessOf(handle));
  return {
    page: (path: string, handle: Handle<By>) => page(path, null, handle),
    form: (path: string, handle: Handle<By>) => form(path, null, handle),
  };
}

/** Puts the parameters of the visit's path into another path. */
function filled(path: string, { params }: Visit): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

/** Pages for everybody. */
export const everybody = withoutPermission((handle: Handle<Visit>) => ({ access: 'everybody', handle }));

/** Pages for users who have signed in. */
export const user = withoutPermission((handle: Handle<UserVisit>) => ({ access: 'user', handle }));

/** Pages of an account. The paths start with `/accounts/{account_id}`. */
export const member = definers((permission: MemberPermission, handle: Handle<MemberVisit>) => ({
  access: 'member',
  permission,
  handle,
}));

/** Pages for operators. The paths start with `/staff`. */
export const staff = definers((permission: StaffPermission, handle: Handle<UserVisit>) => ({
  access: 'staff',
  permission,
  handle,
}));

/** The permission that members need for a page of their account, and the permission that operators need for it. */
type Permissions = readonly [member: MemberPermission, staff: StaffPermission];

const PLACES = [
  definers(
    ([permission]: Permissions, handle: Handle<UserVisit>) => ({ access: 'member', permission, handle }),
    '/accounts/{account_id}',
  ),
  definers(
    ([, permission]: Permissions, handle: Handle<UserVisit>) => ({ access: 'staff', permission, handle }),
    '/staff/accounts/{account_id}',
  ),
];

/** Defines pages of an account for its members and for operators. Their paths follow the path of the account. */
export function forMembersAndStaff(pagesIn: (place: (typeof PLACES)[number]) => readonly Page[]): readonly Page[] {
  return PLACES.flatMap(pagesIn);
}

/** Whether a page is for operators. */
export function isStaffPage({ path }: Visit): boolean {
  return path.startsWith('/console/staff/');
}

/** Whether an operator has a permission. For parts of a page that not all operators see. */
export function hasPermission({ user: { staffRole } }: UserVisit, permission: StaffPermission): boolean {
  return hasStaffPermission(staffRole, permission);
}

/** Whether the visitor of a page of {@link forMembersAndStaff} has the permission, as a member or as an operator. */
export function hasPermissionHere(visit: UserVisit, [ofMembers, ofStaff]: Permissions): boolean {
  if (isStaffPage(visit)) return hasPermission(visit, ofStaff);
  const membership = visit.memberships.find(({ accountId }) => accountId === visit.params['account_id']);
  return membership !== undefined && hasMemberPermission(membership.role, ofMembers);
}

/**
 * One definition for each page of the console: its path, its access, and its handler. `console/pages.ts` lists all pages.
 * `console/serve.ts` authenticates the visitor before the handler runs.
 */
import type { Child } from 'hono/jsx';
import type { Membership, User } from '../db/queries/users.ts';
import type { ServiceError } from '../domain/errors.ts';
import { mayAsStaff, type MemberPermission, type StaffPermission } from '../domain/roles.ts';
import type { Context } from '../api/state.ts';
import type { ApiServices } from '../api/services/services.ts';
import type { Form } from './form.ts';
import type { OpenSession } from '../api/services/people/sessions.ts';
import type { Texts } from './texts/texts.ts';

/** A request for a page. */
export interface Visit {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly path: string;
  readonly texts: Texts;
  readonly requestId: string;
  /** The address that the request came from. */
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
  /** The path of the page that the user was on when the session ended; empty for none. */
  readonly back: string;
  /** Null for strangers. */
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

/** The response of a page. */
export type PageResult =
  | (Cookies & {
      readonly kind: 'page';
      readonly title: string;
      /** The current entry of the navigation. */
      readonly current?: string;
      readonly content: Child;
      readonly problem?: ServiceError | null;
      readonly status?: number;
      /** Hides the navigation: for strangers. */
      readonly bare?: boolean;
    })
  /** A part that htmx puts into the page. */
  | {
      readonly kind: 'part';
      readonly content: Child;
      /** Why the form was refused that the part shows again. */
      readonly problem?: ServiceError;
      readonly status?: number;
    }
  /** The browser opens a path of the console next. After a form, the page there says "Saved", unless it shows what was made. */
  | (Cookies & { readonly kind: 'redirect'; readonly path: string; readonly showsResult?: true })
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

export type Cookie = { readonly token: string } | 'end';

/** The cookies that a response sets or removes. */
interface Cookies {
  readonly session?: Cookie;
  readonly attempt?: Cookie;
  /** The page to which the browser returns after a sign-in. */
  readonly back?: Cookie;
}

/**
 * A page within the console.
 *
 * @param current the current entry of the navigation
 * @param problem why a form was not carried out; shown above the content
 */
export function showPage(
  current: string,
  title: string,
  content: Child,
  problem: ServiceError | null = null,
  status = problem?.status ?? 200,
): PageResult {
  return { kind: 'page', current, title, content, problem, status };
}

interface Definition extends Options {
  readonly method: 'get' | 'post';
  /** Below `/console`, with parameters in braces. */
  readonly path: string;
}

interface Options {
  /** The body of the request is a form by default. An upload has its tokens in `x-form-token` and `x-form-id`. */
  readonly receives?: 'file';
  /** For a form with a file: the most bytes of the file. */
  readonly maxFileBytes?: number;
  /** For a form that only reads, and may be repeated. Every other form is carried out once. */
  readonly changesNothing?: true;
}

type Handle<By extends Visit> = (visit: By, services: ApiServices) => Promise<PageResult>;

/** A page with its access: everybody, users who have signed in, members of the account in the path, or operators. */
export type Page = Definition &
  (
    | { readonly access: 'everybody'; readonly handle: Handle<Visit> }
    | { readonly access: 'user'; readonly handle: Handle<UserVisit> }
    | { readonly access: 'member'; readonly permission: MemberPermission; readonly handle: Handle<MemberVisit> }
    | { readonly access: 'staff'; readonly permission: StaffPermission; readonly handle: Handle<UserVisit> }
  );

/** Makes definers for GET pages and POST forms. */
function byMethod<Make>(makerFor: (method: Definition['method']) => Make) {
  return { page: makerFor('get'), form: makerFor('post') };
}

/** Pages for everybody. */
export const everybody = byMethod((method) => (path: string, handle: Handle<Visit>): Page => ({
  access: 'everybody',
  method,
  path,
  handle,
}));

/** Pages for users who have signed in. */
export const user = byMethod((method) => (path: string, handle: Handle<UserVisit>, options: Options = {}): Page => ({
  access: 'user',
  method,
  path,
  handle,
  ...options,
}));

/** Pages of an account. The paths start with `/accounts/{account_id}`. */
export const member = byMethod(
  (method) =>
    (path: string, permission: MemberPermission, handle: Handle<MemberVisit>, options: Options = {}): Page => ({
      access: 'member',
      method,
      path,
      permission,
      handle,
      ...options,
    }),
);

/** Pages for operators. The paths start with `/staff`. */
export const staff = byMethod(
  (method) =>
    (path: string, permission: StaffPermission, handle: Handle<UserVisit>, options: Options = {}): Page => ({
      access: 'staff',
      method,
      path,
      permission,
      handle,
      ...options,
    }),
);

/** Whether an operator has a permission, for the parts of a page that not all operators see. */
export function may({ user: { staffRole } }: UserVisit, permission: StaffPermission): boolean {
  return mayAsStaff(staffRole, permission);
}

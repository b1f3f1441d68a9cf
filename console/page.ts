/**
 * A page of the console is one definition: where it is, who may see it, and what it shows or does. `console/pages.ts` lists
 * them all; `console/serve.ts` finds out who is asking before a page runs.
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

/** Somebody asking for a page. */
export interface Visit {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly path: string;
  readonly texts: Texts;
  readonly requestId: string;
  /** The address that the request came from. */
  readonly ip: string;
  readonly userAgent: string;
  /** htmx asks for a part of a page. */
  readonly wantsPart: boolean;
  /** What a form carried; empty unless something was sent. */
  readonly form: Form;
  /** The exchange itself, for files that arrive and answers that are streamed. */
  readonly context: Context;
  /** The token of an attempt to sign in with the provider that this browser has begun. */
  readonly attempt: string | null;
  /** Null for strangers. */
  readonly session: OpenSession | null;
  readonly memberships: readonly Membership[];
}

/** Somebody who has signed in. */
export interface UserVisit extends Visit {
  readonly session: OpenSession;
  readonly user: User;
}

/** A member of the account whose page it is. */
export interface MemberVisit extends UserVisit {
  readonly account: Membership;
}

/** What a page answers. */
export type Answer =
  | (Cookies & {
      readonly kind: 'page';
      readonly title: string;
      /** The entry of the navigation that is current. */
      readonly current?: string;
      readonly content: Child;
      readonly problem?: ServiceError | null;
      readonly status?: number;
      /** Without navigation: for strangers. */
      readonly bare?: boolean;
    })
  /** For htmx, which puts it into the page. */
  | { readonly kind: 'part'; readonly content: Child; readonly status?: number }
  /** After something was done: the browser asks for that path of the console next. */
  | (Cookies & { readonly kind: 'redirect'; readonly path: string })
  /** To the provider with which somebody signs in. */
  | (Cookies & { readonly kind: 'leave'; readonly url: string })
  /** A file for the browser to save, sent as it is made. */
  | {
      readonly kind: 'file';
      readonly name: string;
      readonly type: string;
      readonly body: AsyncIterable<string | Uint8Array>;
    }
  /** The page has answered by itself, as the answer came about. */
  | { readonly kind: 'sent' };

/** What an answer changes in the browser. */
interface Cookies {
  readonly session?: { readonly token: string } | 'end';
  readonly attempt?: { readonly token: string } | 'end';
}

/**
 * A page within the console.
 *
 * @param current the entry of the navigation that it belongs to
 * @param problem why a form was not carried out: shown above the page
 */
export function showPage(
  current: string,
  title: string,
  content: Child,
  problem: ServiceError | null = null,
  status = problem?.status ?? 200,
): Answer {
  return { kind: 'page', current, title, content, problem, status };
}

interface Definition extends Options {
  readonly method: 'get' | 'post';
  /** Below `/console`, with parameters in braces. */
  readonly path: string;
}

interface Options {
  /** What is posted: a form, unless the page receives a file; its tokens come in `x-form-token` and `x-form-id` then. */
  readonly receives?: 'file';
  /** For what is posted only to look something up: it may be repeated. Everything else is acted on once. */
  readonly changesNothing?: true;
}

type Handle<By extends Visit> = (visit: By, services: ApiServices) => Promise<Answer>;

/** Who may ask for a page: everybody, whoever has signed in, members of the account in the path, or the gateway's staff. */
export type Page = Definition &
  (
    | { readonly access: 'everybody'; readonly handle: Handle<Visit> }
    | { readonly access: 'user'; readonly handle: Handle<UserVisit> }
    | { readonly access: 'member'; readonly permission: MemberPermission; readonly handle: Handle<MemberVisit> }
    | { readonly access: 'staff'; readonly permission: StaffPermission; readonly handle: Handle<UserVisit> }
  );

/** Makes pages that browsers get, and forms that they post. */
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

/** Pages for whoever has signed in. */
export const user = byMethod((method) => (path: string, handle: Handle<UserVisit>): Page => ({
  access: 'user',
  method,
  path,
  handle,
}));

/** Pages of an account; their paths begin with `/accounts/{account_id}`. */
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

/** Pages of the gateway's own staff; their paths begin with `/staff`. */
export const staff = byMethod(
  (method) =>
    (path: string, permission: StaffPermission, handle: Handle<UserVisit>): Page => ({
      access: 'staff',
      method,
      path,
      permission,
      handle,
    }),
);

/** Whether a member of the staff may do something: for what a page shows to some only. */
export function may({ user: { staffRole } }: UserVisit, permission: StaffPermission): boolean {
  return mayAsStaff(staffRole, permission);
}

/**
 * A page of the console is one definition: where it is, who may see it, and what it shows or does. `console/pages.ts` lists
 * them all; `console/serve.ts` finds out who is asking before a page runs.
 */
import type { Child } from 'hono/jsx';
import type { Membership, User } from '../db/queries/users.ts';
import type { AdminRole } from '../domain/admin-role.ts';
import type { MemberRole } from '../domain/member-role.ts';
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

interface Definition {
  readonly method: 'get' | 'post';
  /** Below `/console`, with parameters in braces. */
  readonly path: string;
  /** What is posted: a form, unless the page receives a file; its tokens come in `x-form-token` and `x-form-id` then. */
  readonly receives?: 'file';
  /** For what is posted only to look something up: it may be repeated. Everything else is acted on once. */
  readonly changesNothing?: true;
}

/** Who may ask for a page: everybody, whoever has signed in, members of the account in the path, or the gateway's staff. */
export type Page = Definition &
  (
    | { readonly access: 'everybody'; handle(visit: Visit, services: ApiServices): Promise<Answer> }
    | { readonly access: 'user'; handle(visit: UserVisit, services: ApiServices): Promise<Answer> }
    | MemberPage
    | StaffPage
  );

interface MemberPage {
  readonly access: 'member';
  readonly roles: readonly MemberRole[];
  handle(visit: MemberVisit, services: ApiServices): Promise<Answer>;
}

interface StaffPage {
  readonly access: 'staff';
  readonly roles: readonly AdminRole[];
  handle(visit: UserVisit, services: ApiServices): Promise<Answer>;
}

export const ALL_MEMBERS: readonly MemberRole[] = ['owner', 'developer', 'finance'];
export const DEVELOPERS: readonly MemberRole[] = ['owner', 'developer'];
/** Who sees what an account pays. */
export const PAYERS: readonly MemberRole[] = ['owner', 'finance'];
export const OWNERS: readonly MemberRole[] = ['owner'];
export const ALL_STAFF: readonly AdminRole[] = ['operator', 'finance', 'readonly'];
export const OPERATORS: readonly AdminRole[] = ['operator'];
/** Who may move money by hand. */
export const FINANCE: readonly AdminRole[] = ['operator', 'finance'];

/** A page for everybody, or for whoever has signed in. */
export function page(definition: Page): Page {
  return definition;
}

/** A page of an account; its path begins with `/accounts/{account_id}`. */
export function memberPage(definition: Definition & Omit<MemberPage, 'access'>): Page {
  return { access: 'member', ...definition };
}

/** A page of the gateway's own staff; its path begins with `/staff`. */
export function staffPage(definition: Definition & Omit<StaffPage, 'access'>): Page {
  return { access: 'staff', ...definition };
}

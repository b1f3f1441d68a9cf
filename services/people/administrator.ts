/** Callers of the administration endpoints: holders of a named admin token, or of the token in the environment. */
import type { Database } from '../../db/database.ts';
import { type NewAdminAction, recordAdminAction, useAdminToken } from '../../db/queries/admin-tokens.ts';
import type { Authorship } from '../../db/queries/operator-actions.ts';
import type { AdminRole } from '../../domain/roles.ts';
import { badRequest } from '../../domain/errors.ts';
import { randomLetters } from '../../domain/ids.ts';
import { isObject } from '../../domain/json.ts';
import { createTokenCheck, digestToken } from '../../domain/bearer-token.ts';

export interface Administrator {
  /** The author of the action. */
  readonly name: string;
  readonly role: AdminRole;
  /** Null for the token in the environment, whose holders may name themselves. */
  readonly tokenId: string | null;
}

/** The key of the caller's queue of reports: see `finance/statements.ts`. */
export function reportQueueKey({ name, tokenId }: Administrator): string {
  return tokenId ?? name;
}

/** The holder of an admin token; null for an unknown token. */
export type FindAdministrator = (token: string) => Promise<Administrator | null>;

/** The author of actions with the token in the environment, unless the request names one. */
export const SHARED_NAME = 'admin';

const SHARED: Administrator = { name: SHARED_NAME, role: 'operator', tokenId: null };
const PREFIX = 'ga-';
const SECRET_LENGTH = 48;
const FORM = /^ga-[0-9a-z]{48}$/;

/** A new admin token: `ga-` and 48 random letters and digits. Shown once, never stored. */
export function newAdminToken(): string {
  return PREFIX + randomLetters(SECRET_LENGTH);
}

/** The part of a token that people may see again, to recognise the token. */
export function hintOfAdminToken(token: string): string {
  return `${PREFIX}…${token.slice(-4)}`;
}

/**
 * Looks up named tokens in the database each time, so that a revoked token stops working at once in every process.
 *
 * @param sharedTokens the tokens in the environment, which work without the database
 */
export function createFindAdministrator(database: Database, sharedTokens: readonly string[]): FindAdministrator {
  const checks = sharedTokens.map(createTokenCheck);
  return async (token) => {
    if (checks.some((isShared) => isShared(token))) return SHARED;
    const found = FORM.test(token) ? await useAdminToken(database, digestToken(token)) : null;
    return found && { name: found.name, role: found.role, tokenId: found.id };
  };
}

/**
 * The author of an action: the holder of the token. Only a request with the environment's token may name another
 * author.
 *
 * @param given the name in the request
 * @throws ServiceError `bad_request` when a named token comes with another name
 */
export function authorOf({ name, tokenId }: Administrator, given: string | undefined): string {
  if (tokenId === null) return given ?? name;
  if (given !== undefined && given !== name) {
    throw badRequest(`"author" is the name of the admin token, ${name}: leave it out, or use a token of that author`);
  }
  return name;
}

/** The author of an action (see {@link authorOf}), and the reason in the request. */
export function authorshipOf(
  caller: Administrator,
  { author, reason = 'not given' }: { readonly author?: string | undefined; readonly reason?: string },
): Authorship {
  return { author: authorOf(caller, author), reason };
}

export interface AdminCall extends Pick<NewAdminAction, 'action' | 'path' | 'requestId'> {
  readonly body: unknown;
}

/** Records a call before it is carried out, so that every action has an author. */
export async function recordAdminCall(
  database: Database,
  administrator: Administrator,
  { body, ...call }: AdminCall,
): Promise<void> {
  const given = (name: string) => (isObject(body) && typeof body[name] === 'string' ? body[name] : undefined);
  const author = authorOf(administrator, given('author'));
  const reason = given('reason') || null;
  await recordAdminAction(database, { ...call, author, reason, tokenId: administrator.tokenId });
}

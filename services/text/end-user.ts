/** Reads the end user's name in a text request. */
import type { IncomingHttpHeaders } from 'node:http';
import { endUserName } from '../../domain/end-user.ts';
import { type JsonObject, objectOf, stringOf } from '../../domain/json.ts';
import { objectOfText } from '../../text/json/parse.ts';

/**
 * Claude Code names its user and its session in one field, in two forms: https://github.com/ding113/claude-code-hub/pull/939
 * The forms of earlier versions end with the session.
 */
const USER_AND_SESSION = /^(user_[\da-f]+_account_[\da-f-]*)_session_[\da-f-]+$/;
const MAX_CLAUDE_CODE_LENGTH = 1_000;

/**
 * Returns the name of the end user, from the first field that has one; null for none. The session of Claude Code is no
 * part of the name.
 *
 * @param body the request as sent, in any format
 */
export function endUserOf(body: JsonObject): string | null {
  const ofMessages = withoutSession(stringOf(objectOf(body['metadata'])['user_id']));
  const named = [stringOf(body['safety_identifier']), stringOf(body['user']), ofMessages];
  const sent = named.find((name) => name !== '');
  return sent === undefined ? null : endUserName(sent);
}

function withoutSession(name: string): string {
  const [, user] = USER_AND_SESSION.exec(name) ?? [];
  if (user !== undefined) return user;
  if (!name.startsWith('{') || name.length > MAX_CLAUDE_CODE_LENGTH) return name;
  const { session_id: session, account_uuid: account, device_id: device } = objectOfText(name) ?? {};
  if (session === undefined) return name;
  return stringOf(account) || stringOf(device) || name;
}

/**
 * Returns the name of the end user of realtime sessions, in the header of OpenAI's API; null for none:
 * https://platform.openai.com/docs/guides/safety-best-practices
 */
export function endUserOfSessions(headers: IncomingHttpHeaders): string | null {
  const sent = stringOf(headers['openai-safety-identifier']);
  return sent === '' ? null : endUserName(sent);
}

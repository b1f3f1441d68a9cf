/** The rules for opening a realtime session: contract 4.16. */
import { ServiceError } from './errors.ts';
import { parseUrl } from './parse-url.ts';

export const TRANSPORTS = ['websocket', 'webrtc'] as const;

export type Transport = (typeof TRANSPORTS)[number];

/** What a client secret restricts. An empty list allows all. */
export interface SecretRestrictions {
  readonly allowedOrigins: readonly string[];
  readonly transports: readonly Transport[];
}

/** The credential of a request for a session. */
export type RealtimeCredential =
  | { readonly kind: 'none' }
  | { readonly kind: 'key' }
  /** @param restrictions null if the secret is unknown or expired, or its key cannot be used */
  | { readonly kind: 'secret'; readonly restrictions: SecretRestrictions | null };

/** A request for a session, before its model and its money are checked. */
export interface Opening {
  /** Whether the catalogue has a model of realtime sessions. */
  readonly isOffered: boolean;
  readonly credential: RealtimeCredential;
  readonly transport: Transport;
  /** The header `Origin`, which browsers send; null for none. */
  readonly origin: string | null;
}

/** The first reason to refuse a session, in the order of contract 4.16; null for none. */
export function refusalOfOpening({ isOffered, credential, transport, origin }: Opening): ServiceError | null {
  if (!isOffered) return realtimeDisabled();
  if (credential.kind === 'none') {
    return new ServiceError(
      'missing_api_key',
      'No credential was sent. Send an API key or a client secret as "Authorization: Bearer …"; browsers send a client secret as a subprotocol.',
    );
  }
  if (credential.kind === 'key') return origin === null ? null : keyInBrowser();
  if (credential.restrictions === null) {
    return new ServiceError(
      'invalid_client_secret',
      'The client secret is wrong or has expired, or its API key no longer works. Create a new secret.',
    );
  }
  const { transports, allowedOrigins } = credential.restrictions;
  if (transports.length > 0 && !transports.includes(transport)) {
    return new ServiceError('transport_not_allowed', `The client secret does not allow ${transport} sessions.`);
  }
  return isAllowedOrigin(origin, allowedOrigins) ? null : originNotAllowed();
}

/** Whether sessions may come from an origin. Only listed origins match a list that is not empty. */
function isAllowedOrigin(origin: string | null, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const sent = origin === null ? null : normalizeOrigin(origin);
  return sent !== null && allowed.includes(sent);
}

/**
 * Returns an origin as browsers send it: scheme, host in lower case, and the port unless it is the usual one.
 *
 * @returns null for any other text, such as `null`, an address with a path, or a wildcard
 */
export function normalizeOrigin(text: string): string | null {
  const url = /^https?:\/\/[\w.:[\]-]+$/i.test(text) ? parseUrl(text) : null;
  return url === null || url.hostname === '' || url.origin === 'null' ? null : url.origin;
}

/** The answer before anything else of a realtime request is checked: contract 7.2. */
export function realtimeDisabled(
  message = 'Realtime sessions are not offered. Send `stream: true` with POST /v1/chat/completions or /v1/responses.',
): ServiceError {
  return new ServiceError('realtime_disabled', message);
}

function keyInBrowser(): ServiceError {
  return new ServiceError(
    'origin_not_allowed',
    'Do not use an API key in a browser. Create a client secret with POST /v1/realtime/client_secrets, and use it there.',
  );
}

function originNotAllowed(): ServiceError {
  return new ServiceError(
    'origin_not_allowed',
    'The client secret does not allow this origin. Add the origin of the page to `allowed_origins`.',
  );
}

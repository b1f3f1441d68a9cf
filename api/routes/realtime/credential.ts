/** The credential of a request for a realtime session, and the first reasons to refuse the session: contract 4.16. */
import type { IncomingHttpHeaders } from 'node:http';
import { keyRefusalError, assertNotExhausted, assertUsable } from '../../../domain/api-key.ts';
import { bearerTokenOf } from '../../../domain/bearer-token.ts';
import { refusalOfOpening, type Transport } from '../../../domain/realtime.ts';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { assertAllowedAddress } from '../../../services/people/allowed-address.ts';
import { type FoundSecret, isClientSecret } from '../../../services/realtime/secrets.ts';
import { endUserOfSessions } from '../../../services/text/end-user.ts';
import type { ApiServices } from '../../services.ts';
import type { Context } from '../../state.ts';

/** Browsers cannot set headers, so they send the secret in a subprotocol. */
const SECRET_PROTOCOL = 'openai-insecure-api-key.';
const MAX_KEY_LENGTH = 256;

/** The caller who opens a session. */
export interface SessionOpener {
  readonly caller: Caller;
  /** Null for a caller with an API key. */
  readonly secret: FoundSecret | null;
  /** The end user of the session; null for none. Clients with a secret do not choose their own. */
  readonly endUser: string | null;
}

/**
 * Checks the credential, the transport and the origin of a request for a session.
 *
 * @throws ServiceError the first refusal in the order of contract 4.16
 */
export async function checkOpener(
  context: Context,
  transport: Transport,
  { text: { realtime }, clock, http }: ApiServices,
): Promise<SessionOpener> {
  const token = credentialOf(context.headers);
  const isOffered = realtime.isOffered();
  const isSecret = token !== '' && isClientSecret(token);
  const secret = isOffered && isSecret ? await realtime.secrets.find(token) : null;
  const refusal = refusalOfOpening({
    isOffered,
    credential: token === '' ? { kind: 'none' } : isSecret ? { kind: 'secret', restrictions: secret } : { kind: 'key' },
    transport,
    origin: context.headers.origin ?? null,
  });
  if (secret !== null) context.state.apiKey = secret.caller.key;
  if (refusal !== null) throw refusal;
  const caller = secret?.caller ?? (token.length <= MAX_KEY_LENGTH ? await http.findCaller(token) : null);
  if (caller === null) throw keyRefusalError('key_unknown');
  context.state.apiKey = caller.key;
  assertUsable(caller.key, caller.account, new Date(clock.nowMs()));
  assertNotExhausted(caller.key);
  assertAllowedAddress(caller.key, context, 'forbidden');
  context.state.caller = caller;
  return { caller, secret, endUser: secret === null ? endUserOfSessions(context.headers) : secret.endUser };
}

function credentialOf(headers: IncomingHttpHeaders): string {
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  const inProtocol = protocols.find((protocol) => protocol.startsWith(SECRET_PROTOCOL));
  return bearerTokenOf(headers) ?? inProtocol?.slice(SECRET_PROTOCOL.length) ?? '';
}

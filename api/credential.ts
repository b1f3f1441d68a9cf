/** Tells clients apart before their credentials are checked. */
import type { IncomingHttpHeaders } from 'node:http';

/** Headers of credentials, the most frequent first. */
const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', 'x-native-api-key'] as const;

/** The credential of a request, not checked; empty if there is none. */
export function credentialIn(headers: IncomingHttpHeaders): string {
  for (const name of CREDENTIAL_HEADERS) {
    const value = headers[name];
    if (value !== undefined) return String(value);
  }
  return '';
}

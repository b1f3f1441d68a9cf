/** Options of connections to Temporal, from the configuration. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TemporalConfig } from '../../config.ts';

/** The options that the SDK's client and worker connections share. */
export function connectionOptions({ address, apiKey, tls }: TemporalConfig) {
  return { address, ...(apiKey !== undefined && { apiKey }), ...(tls && { tls: tlsOptions(tls.folder) }) };
}

/** @throws Error if the folder does not exist, or has one half of the client certificate only */
function tlsOptions(folder: string | undefined) {
  if (folder === undefined) return true;
  const names = new Set(readdirSync(folder));
  const read = (name: string) => readFileSync(join(folder, name));
  return {
    ...(names.has('ca.crt') && { serverRootCACertificate: read('ca.crt') }),
    ...((names.has('tls.crt') || names.has('tls.key')) && {
      clientCertPair: { crt: read('tls.crt'), key: read('tls.key') },
    }),
  };
}

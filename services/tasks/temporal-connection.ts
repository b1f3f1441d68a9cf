/** Options of connections to Temporal, from the configuration. */
import { readFileSync } from 'node:fs';
import type { TemporalConfig } from '../../config.ts';

/** The options that the SDK's client and worker connections share. */
export function connectionOptions({ address, apiKey, tls }: TemporalConfig) {
  return {
    address,
    ...(apiKey !== undefined && { apiKey }),
    ...(tls ? { tls: tlsOptions(tls) } : apiKey !== undefined && { tls: true }),
  };
}

function tlsOptions({ serverCaCertPath, client }: NonNullable<TemporalConfig['tls']>) {
  return {
    ...(serverCaCertPath !== undefined && { serverRootCACertificate: readFileSync(serverCaCertPath) }),
    ...(client && { clientCertPair: { crt: readFileSync(client.certPath), key: readFileSync(client.keyPath) } }),
  };
}

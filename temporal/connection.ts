/** Connections to Temporal as the configuration describes it. */
import { readFileSync } from 'node:fs';
import type { TemporalConfig } from '../config.ts';

/** What the SDK's client and worker connections have in common. */
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

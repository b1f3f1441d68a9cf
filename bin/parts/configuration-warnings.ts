/** Warns of a configuration that is valid, and perhaps not what the operator wants. */
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

export function warnOfConfiguration(config: Pick<Config, 'api' | 'storage' | 'unreadVariables'>, log: Logger): void {
  warnOfPlainHttp(config, log);
  for (const variable of config.unreadVariables) {
    log.warn({ variable }, 'Genway has no such variable: correct its name, or remove it');
  }
}

/** Warns of each address in links to results that is plain HTTP, except on loopback, which developers use. */
function warnOfPlainHttp({ api, storage }: Pick<Config, 'api' | 'storage'>, log: Logger): void {
  const addresses = {
    GENWAY_PUBLIC_URL: api.publicUrl,
    ...(storage.kind === 's3' && { GENWAY_S3_PUBLIC_URL: storage.publicUrl }),
  };
  for (const [variable, address] of Object.entries(addresses)) {
    const { protocol, hostname } = new URL(address);
    if (protocol !== 'http:' || LOOPBACK.has(hostname)) continue;
    log.warn({ variable, address }, 'links to results do not use https: set the variable to an https address');
  }
}

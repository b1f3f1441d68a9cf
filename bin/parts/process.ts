/** What every process of Genway does the same way: logging and stopping in order. */
import { inspect } from 'node:util';
import { pino, type Logger } from 'pino';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { foldOutages } from './outages.ts';

/** A structured log on standard output; credentials are taken out wherever they might slip in. */
export function createLog(name: string, config: Pick<Config, 'logLevel'>): Logger {
  return pino({
    name,
    level: config.logLevel,
    hooks: foldOutages(),
    redact: [
      // PostgreSQL quotes the row that it refuses, with the client's words in it.
      '*.detail',
      '*.authorization',
      '*.api_key',
      '*.secret',
      'headers.authorization',
      'headers["x-api-key"]',
    ],
  });
}

/** Has a process that ends unasked say why: in sentences where the operator is to put something right. */
export function explainEnd(): void {
  process.on('uncaughtException', (error) => {
    console.error(error instanceof OperatorError ? error.message : inspect(error));
    process.exit(1);
  });
}

/**
 * Stops the process in order on SIGTERM or SIGINT, and with exit code 1 should that take longer than the grace.
 *
 * @param stop finishes what is under way; called once
 */
export function stopOnSignal(log: Logger, graceMs: number, stop: () => Promise<void>): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.error('stopping took too long');
      process.exit(1);
    }, graceMs).unref();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

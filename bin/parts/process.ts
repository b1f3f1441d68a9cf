/** Shared by all processes of Genway: logging and orderly shutdown. */
import { inspect } from 'node:util';
import { type DestinationStream, pino, type Logger } from 'pino';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { collapseRepeatedErrors } from './outages.ts';

/** How long a stopping process waits for an unavailable database, to record what it has delivered. */
export const RECORDING_MS = 30_000;

/** All parts of a process, without its signals and its exit. */
export interface RunningParts {
  /** How long `stop` may take. */
  readonly graceMs: number;
  /** Finishes the work in progress and closes all connections; called once. */
  readonly stop: () => Promise<void>;
}

/** Creates a structured log that redacts credentials. @param destination standard output by default */
export function createLog(name: string, config: Pick<Config, 'logLevel'>, destination?: DestinationStream): Logger {
  const options = {
    name,
    level: config.logLevel,
    hooks: collapseRepeatedErrors(),
    redact: [
      // PostgreSQL quotes the refused row, which may contain a client's prompt.
      '*.detail',
      '*.authorization',
      '*.api_key',
      '*.secret',
      'headers.authorization',
      'headers["x-api-key"]',
    ],
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Makes a process that dies print the reason: a sentence if the operator has to fix something. */
export function printFatalErrors(): void {
  process.on('uncaughtException', (error) => {
    console.error(error instanceof OperatorError ? error.message : inspect(error));
    process.exit(1);
  });
}

/**
 * Shuts the process down in order on SIGTERM or SIGINT; if that takes longer than `graceMs`, exits with code 1.
 *
 * @param stop finishes the work in progress; called once
 */
export function stopOnSignal(log: Logger, graceMs: number, stop: () => Promise<void>): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.error('the process did not stop in time; exiting');
      process.exit(1);
    }, graceMs).unref();
    stop().then(
      // Keeps an exit code that was set before, such as by `watchDatabase`.
      () => process.exit(),
      (error: unknown) => {
        log.error({ err: error }, 'the process failed to stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/**
 * The operator's files that a process uses. A new version comes into force while the process runs, once it has been
 * checked as a whole; one that is wrong leaves the version before in force.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import type { ConfigurationControl } from '../../api/services/configuration-control.ts';
import type { FilesConfig } from '../../config.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { repeat } from '../../domain/repeat.ts';
import { watchConfiguration } from '../../telemetry/configuration-gauge.ts';
import { FilesInForce, type FilesOptions, type TakeUp } from './files-in-force.ts';
import { configuredPaths, type OperatorFiles } from './operator-files.ts';

export interface KeptFiles extends ConfigurationControl {
  /** The current files. */
  current(): OperatorFiles;
  /** @param takeUp called with the files that come into force, before anything else goes by them */
  onChange(takeUp: TakeUp): void;
  /** Records which version the process began with. */
  recordStart(): Promise<void>;
  stop(): void;
}

interface KeepFilesOptions extends FilesOptions {
  readonly registry: Registry;
  readonly pauseMs?: number;
}

const PAUSE_MS = 1_000;

/**
 * Reads the files, and looks from time to time, and at SIGHUP, whether they have changed.
 *
 * @throws OperatorError with everything that is wrong in them at the start
 */
export function keepFiles(options: KeepFilesOptions): KeptFiles {
  const { config, log, registry, pauseMs = PAUSE_MS } = options;
  const inForce = new FilesInForce(options);
  let seen = '';
  let turn: Promise<void> = digestOf(config).then((digest) => inForce.beginWith(digest));

  /** One after another: a signal may come while they are being looked at. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  }

  /** A file that is being written is left alone until it has stayed the same from one look to the next. */
  async function look(): Promise<void> {
    const digest = await digestOf(config);
    const isSettled = digest === seen;
    seen = digest;
    if (isSettled && !inForce.hasRefused(digest)) await inForce.takeUp(digest).catch(unlessRefused);
  }

  const apply = (): Promise<void> => inTurn(async () => inForce.takeUp(await digestOf(config)));
  const onSignal = (): void => void apply().catch((error: unknown) => log.debug({ err: error }, 'nothing was applied'));
  process.on('SIGHUP', onSignal);
  const watch = repeat(() => inTurn(look), {
    pauseMs,
    onError: (error) => log.debug({ err: error }, 'cannot take up another configuration'),
  });
  watchConfiguration(registry, () => {
    const { catalogueVersion: catalogue, digest, refusal } = inForce.state;
    return { catalogue, digest, isRefused: refusal !== null };
  });

  return {
    current: () => inForce.files,
    onChange: (takeUp) => inForce.onChange(takeUp),
    recordStart: () => inTurn(() => inForce.recordInForce()),
    show: () => inForce.state,
    preview: async () => inForce.preview(await digestOf(config)),
    apply,
    stop: () => {
      process.off('SIGHUP', onSignal);
      void watch.stop();
    },
  };
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof OperatorError)) throw error;
}

/** The digest of the files' content; a file that cannot be read counts as empty. */
async function digestOf(config: FilesConfig): Promise<string> {
  const { catalogue, upstreams } = configuredPaths(config);
  const hash = createHash('sha256');
  for (const path of [catalogue, upstreams]) {
    const text = path === null ? '' : await readFile(path).catch(() => '');
    hash.update(createHash('sha256').update(text).digest());
  }
  return hash.digest('hex');
}

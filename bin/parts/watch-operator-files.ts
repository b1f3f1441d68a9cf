/**
 * Keeps the operator's files of a running process current. The process uses a new version once the whole version is
 * checked; an invalid version leaves the previous one in use.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import type { ConfigurationControl } from '../../services/operations/configuration-control.ts';
import type { FilesConfig } from '../../config.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { repeat } from '../../domain/background-loop.ts';
import { watchConfiguration } from '../../telemetry/configuration-gauge.ts';
import { ActiveConfiguration, type FilesOptions, type ConfigurationListener } from './active-configuration.ts';
import { configuredPaths, type OperatorFiles } from './operator-files.ts';

export interface WatchedFiles extends ConfigurationControl {
  /** The current files. */
  current(): OperatorFiles;
  /** @param listener called with the new files before the process uses them */
  onChange(listener: ConfigurationListener): void;
  /**
   * Stores the prices of the version with which the process started, and records its use.
   *
   * @throws OperatorError if prices or costs were changed without a new version
   */
  confirmStart(): Promise<void>;
  stop(): void;
}

interface WatchOptions extends FilesOptions {
  readonly registry: Registry;
  readonly pauseMs?: number;
}

const PAUSE_MS = 1_000;

/**
 * Reads the files, and checks periodically, and at SIGHUP, whether they have changed.
 *
 * @throws OperatorError with all mistakes in the files at the start
 */
export function watchOperatorFiles(options: WatchOptions): WatchedFiles {
  const { config, log, registry, pauseMs = PAUSE_MS } = options;
  const active = new ActiveConfiguration(options);
  let seen = '';
  const digestNow = (): Promise<string> => digestOf(config, active.files);
  let previous: Promise<void> = digestNow().then((digest) => active.setInitialDigest(digest));

  /** Runs one piece of work after another: a signal may arrive during a check. */
  function inOrder(work: () => Promise<void>): Promise<void> {
    const done = previous.then(work);
    previous = done.catch(() => undefined);
    return done;
  }

  /** Applies changed files once they are the same in two checks: a file may still be written. */
  async function check(): Promise<void> {
    const digest = await digestNow();
    const isSettled = digest === seen;
    seen = digest;
    if (isSettled && !active.hasRefused(digest)) await active.apply(digest).catch(unlessRefused);
  }

  const apply = (): Promise<void> => inOrder(async () => active.apply(await digestNow()));
  const onSignal = (): void => void apply().catch((error: unknown) => log.debug({ err: error }, 'nothing was applied'));
  process.on('SIGHUP', onSignal);
  const watch = repeat(() => inOrder(check), {
    pauseMs,
    onError: (error) => log.debug({ err: error }, 'cannot apply the configuration'),
  });
  watchConfiguration(registry, () => {
    const { catalogueVersion: catalogue, digest, refusal } = active.state;
    return { catalogue, digest, isRefused: refusal !== null };
  });

  return {
    current: () => active.files,
    onChange: (listener) => active.onChange(listener),
    confirmStart: () => inOrder(() => active.confirmStart()),
    show: () => active.state,
    preview: async () => active.preview(await digestNow()),
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
async function digestOf(config: FilesConfig, { site: { files } }: OperatorFiles): Promise<string> {
  const { catalogue, upstreams, site } = configuredPaths(config);
  const hash = createHash('sha256');
  for (const path of [catalogue, upstreams, site, ...files]) {
    const text = path === null ? '' : await readFile(path).catch(() => '');
    hash.update(createHash('sha256').update(text).digest());
  }
  return hash.digest('hex');
}

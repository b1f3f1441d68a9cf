/**
 * The operator's files as a process goes by them. A new version comes into force while the process runs, once it has been
 * checked as a whole; one that is wrong leaves the version before in force.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ConfigurationControl, ConfigurationPreview } from '../../api/services/configuration-control.ts';
import { compareOffers, offerOf } from '../../catalogue/offer.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import type { FilesConfig } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import { recordConfiguration } from '../../db/queries/configurations.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { watchConfiguration } from '../../telemetry/configuration-gauge.ts';
import { checkFiles, configuredPaths, loadFiles, type OperatorFiles } from './operator-files.ts';

export interface KeptFiles extends ConfigurationControl {
  /** Those in force. */
  current(): OperatorFiles;
  /** @param takeUp called with the files that come into force, before anything else goes by them */
  onChange(takeUp: (files: OperatorFiles) => void | Promise<void>): void;
  /** Puts on record what the process began with. */
  recordStart(): Promise<void>;
  stop(): void;
}

interface KeepFilesOptions {
  readonly config: FilesConfig;
  readonly database: Database;
  readonly log: Logger;
  readonly registry: Registry;
  /** Such as `api`. */
  readonly kind: string;
  /** Does what has to be done before a catalogue may be sold by. @throws OperatorError when it may not */
  readonly prepare?: (catalogue: Catalogue) => Promise<void>;
  readonly pauseMs?: number;
}

const PAUSE_MS = 1_000;

/**
 * Reads the files, and looks from time to time, and at SIGHUP, whether they have changed.
 *
 * @throws OperatorError with everything that is wrong in them at the start
 */
export function keepFiles(options: KeepFilesOptions): KeptFiles {
  const { config, database, log, registry, prepare, pauseMs = PAUSE_MS } = options;
  const name = `${options.kind} ${hostname()}:${process.pid}`;
  const listeners: ((files: OperatorFiles) => void | Promise<void>)[] = [];
  let inForce = { files: loadFiles(config, log), digest: '', since: new Date() };
  let refused: { readonly digest: string; readonly reason: string } | null = null;
  let seen = '';
  let turn: Promise<void> = digestOf(config).then((digest) => void (inForce = { ...inForce, digest }));

  /** One after another: a signal may come while they are being looked at. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  }

  async function takeUp(digest: string): Promise<void> {
    try {
      const files = loadFiles(config, log);
      await prepare?.(files.catalogue);
      for (const listener of listeners) await listener(files);
      inForce = { files, digest, since: new Date() };
      refused = null;
    } catch (error) {
      // Anything else is tried again: the database may be away.
      if (!(error instanceof OperatorError)) throw error;
      refused = { digest, reason: error.message };
      log.error({ digest, reason: error.message }, 'the new configuration is wrong; the one before stays in force');
      await record(null, digest, error.message);
      throw error;
    }
    const { version } = inForce.files.catalogue;
    log.info({ catalogue: version, digest }, 'another configuration is in force');
    await record(version, digest, null);
  }

  async function record(catalogueVersion: string | null, digest: string, refusal: string | null): Promise<void> {
    const written = recordConfiguration(database, { process: name, digest, catalogueVersion, refusal });
    await written.catch((error: unknown) => log.debug({ err: error }, 'cannot record the configuration'));
  }

  /** A file that is being written is left alone until it has stayed the same from one look to the next. */
  async function look(): Promise<void> {
    const digest = await digestOf(config);
    const isSettled = digest === seen;
    seen = digest;
    if (digest === inForce.digest) refused = null;
    else if (isSettled && digest !== refused?.digest) await takeUp(digest).catch(unlessRefused);
  }

  const apply = (): Promise<void> =>
    inTurn(async () => {
      const digest = await digestOf(config);
      if (digest !== inForce.digest) await takeUp(digest);
    });
  /** Files that are wrong in themselves change nothing: their refusal says what is wrong. */
  async function preview(): Promise<ConfigurationPreview | null> {
    if ((await digestOf(config)) === inForce.digest) return null;
    const [before, { catalogue, findings }] = [inForce.files.catalogue, checkFiles(configuredPaths(config), null)];
    if (catalogue === null || findings.some(({ severity }) => severity === 'error')) return null;
    return { catalogueVersion: catalogue.version, changes: compareOffers(offerOf(before), offerOf(catalogue)) };
  }

  const onSignal = (): void => void apply().catch((error: unknown) => log.debug({ err: error }, 'nothing was applied'));
  process.on('SIGHUP', onSignal);
  const stopped = new AbortController();

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted) {
      await inTurn(look).catch((error: unknown) => log.debug({ err: error }, 'cannot take up another configuration'));
      await sleep(pauseMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
    }
  }

  void watch();
  watchConfiguration(registry, () => ({
    catalogue: inForce.files.catalogue.version,
    digest: inForce.digest,
    isRefused: refused !== null,
  }));

  return {
    current: () => inForce.files,
    onChange: (listener) => void listeners.push(listener),
    recordStart: () => inTurn(() => record(inForce.files.catalogue.version, inForce.digest, null)),
    show: () => ({
      process: name,
      catalogueVersion: inForce.files.catalogue.version,
      digest: inForce.digest,
      since: inForce.since,
      refusal: refused?.reason ?? null,
    }),
    preview,
    apply,
    stop: () => {
      process.off('SIGHUP', onSignal);
      stopped.abort();
    },
  };
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof OperatorError)) throw error;
}

/** Of what the files say; one that cannot be read counts as empty. */
async function digestOf(config: FilesConfig): Promise<string> {
  const { catalogue, upstreams } = configuredPaths(config);
  const hash = createHash('sha256');
  for (const path of [catalogue, upstreams]) {
    const text = path === null ? '' : await readFile(path).catch(() => '');
    hash.update(createHash('sha256').update(text).digest());
  }
  return hash.digest('hex');
}

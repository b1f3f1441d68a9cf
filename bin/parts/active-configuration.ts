/** The version of the operator's files that a process uses, and why it refused a later version. */
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { ConfigurationPreview, ConfigurationState } from '../../services/operations/configuration-control.ts';
import { compareOffers, mediaRateCardsOf, offerOf, textCostsOf } from '../../catalogue/offer.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import type { FilesConfig } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import { recordConfiguration } from '../../db/queries/configurations.ts';
import { recordRateCards } from '../../db/queries/rate-cards.ts';
import { recordTextCosts } from '../../db/queries/text-costs.ts';
import { rateCardsOf } from '../../db/text-money/create-billing.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { checkFiles, configuredPaths, loadFiles, type OperatorFiles } from './operator-files.ts';

export interface FilesOptions {
  readonly config: FilesConfig;
  readonly database: Database;
  readonly log: Logger;
  /** For example `api`. */
  readonly kind: string;
}

export type ConfigurationListener = (files: OperatorFiles) => void | Promise<void>;

export class ActiveConfiguration {
  readonly #options: FilesOptions;
  readonly #process: string;
  readonly #listeners: ConfigurationListener[] = [];
  #current: { readonly files: OperatorFiles; readonly digest: string; readonly since: Date };
  #refused: { readonly digest: string; readonly reason: string } | null = null;

  /** @throws OperatorError with all mistakes in the files */
  constructor(options: FilesOptions) {
    this.#options = options;
    this.#process = `${options.kind} ${hostname()}:${process.pid}`;
    this.#current = { files: loadFiles(options.config, options.log), digest: '', since: new Date() };
  }

  get files(): OperatorFiles {
    return this.#current.files;
  }

  get state(): ConfigurationState {
    const { files, digest, since } = this.#current;
    const refusal = this.#refused?.reason ?? null;
    return { process: this.#process, catalogueVersion: files.catalogue.version, digest, since, refusal };
  }

  /** @param listener called with the new files before the process uses them */
  onChange(listener: ConfigurationListener): void {
    this.#listeners.push(listener);
  }

  /** Sets the digest of the files that the constructor read. */
  setInitialDigest(digest: string): void {
    this.#current = { ...this.#current, digest };
  }

  hasRefused(digest: string): boolean {
    return digest === this.#refused?.digest;
  }

  /**
   * Returns the changes that the files on disk would make; null if they are current or invalid. The refusal of invalid
   * files gives the reason.
   */
  preview(digest: string): ConfigurationPreview | null {
    if (digest === this.#current.digest) return null;
    const { config } = this.#options;
    const { catalogue, findings } = checkFiles(config, configuredPaths(config), null);
    if (catalogue === null || findings.some(({ severity }) => severity === 'error')) return null;
    const changes = compareOffers(offerOf(this.files.catalogue), offerOf(catalogue));
    return { catalogueVersion: catalogue.version, changes };
  }

  /**
   * Applies the files on disk, unless they are current.
   *
   * @throws OperatorError if the files are invalid; the refusal is recorded, and the previous version stays in use
   */
  async apply(digest: string): Promise<void> {
    if (digest !== this.#current.digest) await this.#replace(digest).catch((error) => this.#refuse(digest, error));
    else if (this.#refused !== null) await this.recordCurrent();
    this.#refused = null;
  }

  /**
   * Stores the prices of the files with which the process started, and records the use of the files.
   *
   * @throws OperatorError if the process must not use the files; the refusal is recorded
   */
  async confirmStart(): Promise<void> {
    const { files, digest } = this.#current;
    await recordPrices(this.#options.database, files.catalogue).catch((error) => this.#refuse(digest, error));
    await this.recordCurrent();
  }

  async #replace(digest: string): Promise<void> {
    const { config, database, log } = this.#options;
    const files = loadFiles(config, log);
    await recordPrices(database, files.catalogue);
    for (const listener of this.#listeners) await listener(files);
    this.#current = { files, digest, since: new Date() };
    log.info({ catalogue: files.catalogue.version, digest }, 'another configuration is in force');
    await this.recordCurrent();
  }

  async #refuse(digest: string, error: unknown): Promise<never> {
    // Any other failure is retried: the database may be unavailable.
    if (!(error instanceof OperatorError)) throw error;
    const { message: reason } = error;
    this.#refused = { digest, reason };
    this.#options.log.error({ digest, reason }, 'the new configuration has mistakes; the current configuration stays');
    await this.#record(null, digest, reason);
    throw error;
  }

  /** Records which version the process uses. */
  recordCurrent(): Promise<void> {
    return this.#record(this.files.catalogue.version, this.#current.digest, null);
  }

  async #record(catalogueVersion: string | null, digest: string, refusal: string | null): Promise<void> {
    const { database, log } = this.#options;
    await recordConfiguration(database, { process: this.#process, digest, catalogueVersion, refusal }).catch(
      (error: unknown) => log.debug({ err: error }, 'cannot record the configuration'),
    );
  }
}

/**
 * Stores the prices and costs of a version. The stored ones decide for every process whether it uses a catalogue.
 *
 * @throws OperatorError if prices or costs were changed without a new version
 */
async function recordPrices(database: Database, catalogue: Catalogue): Promise<void> {
  await recordRateCards(database, [...rateCardsOf(catalogue), ...mediaRateCardsOf(catalogue)]);
  await recordTextCosts(database, textCostsOf(catalogue));
}

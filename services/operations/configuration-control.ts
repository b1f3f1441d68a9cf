import type { OfferChange } from '../../catalogue/offer.ts';
import { findRefusal } from '../../db/queries/configurations.ts';
import type { Database } from '../../db/database.ts';

/** The operator's files (catalogue and upstreams) as this process uses them. */
export interface ConfigurationControl {
  show(): ConfigurationState;
  /** Returns the changes that the current files would make; null if they are in force. */
  preview(): Promise<ConfigurationPreview | null>;
  /**
   * Loads the current files now instead of at the next interval.
   *
   * @throws OperatorError with every error in the files; the version in force stays
   */
  apply(): Promise<void>;
}

export interface ConfigurationState {
  /** Kind, host and process id. */
  readonly process: string;
  readonly catalogueVersion: string;
  /** SHA-256 over both files. */
  readonly digest: string;
  /** When this process loaded the files. */
  readonly since: Date;
  /** Why the current files are not in force; null if they are. */
  readonly refusal: string | null;
}

/** Files that are not in force yet, or are refused. */
export interface ConfigurationPreview {
  readonly catalogueVersion: string;
  /** Changes of models and prices; empty if only the upstreams changed. */
  readonly changes: readonly OfferChange[];
}

/** Returns why this process or another refused the files on disk; null if no process did. */
export async function readRefusal({
  database,
  operations,
}: {
  readonly database: Database;
  readonly operations: { readonly configuration: ConfigurationControl };
}): Promise<string | null> {
  const { refusal } = operations.configuration.show();
  if (refusal !== null) return refusal;
  const elsewhere = await findRefusal(database);
  return elsewhere && `${elsewhere.process}: ${elsewhere.refusal}`;
}

import type { OfferChange } from '../../catalogue/offer.ts';

/** The operator's files, the catalogue and the upstreams, as the answering process uses them. */
export interface ConfigurationControl {
  show(): ConfigurationState;
  /** The changes that the files as they are now would make; null if they are in force. */
  preview(): Promise<ConfigurationPreview | null>;
  /**
   * Takes up the files as they are now, rather than in a while.
   *
   * @throws OperatorError with everything that is wrong in them; the version in force stays
   */
  apply(): Promise<void>;
}

export interface ConfigurationState {
  /** Kind, host and process id. */
  readonly process: string;
  readonly catalogueVersion: string;
  /** SHA-256 over both files. */
  readonly digest: string;
  /** When this process took them up. */
  readonly since: Date;
  /** Why the files as they are now are not in force; null where they are. */
  readonly refusal: string | null;
}

/** Files that are not in force yet, or are refused. */
export interface ConfigurationPreview {
  readonly catalogueVersion: string;
  /** In models and prices; empty where only the upstreams are others. */
  readonly changes: readonly OfferChange[];
}

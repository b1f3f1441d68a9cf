/** The interface of vendors' batch APIs: a job with many requests, whose answers arrive together up to a day later. */
import type { JsonObject } from '../../../domain/json.ts';
import { FAILED, UpstreamError } from '../../../text/upstream-errors.ts';
import type { UpstreamRequest } from '../../../text/wire-format.ts';
import type { BatchClient } from './client.ts';

/** A job to create. */
export interface BatchOrder {
  /** Identifies the job in the vendor's list; letters, digits and hyphens. */
  readonly mark: string;
  /** The vendor's name for the model of all requests. */
  readonly model: string;
  readonly requests: readonly OrderedRequest[];
}

export interface OrderedRequest {
  /** From {@link customIdOf}. */
  readonly customId: string;
  readonly request: UpstreamRequest;
}

/** A job that was sent, and whose creation the vendor did not confirm. */
export interface SentJob {
  readonly mark: string;
  readonly sentAtMs: number;
  readonly requestCount: number;
}

/** `unsure`: a job may exist. */
export type FoundJob =
  | { readonly kind: 'found'; readonly vendorId: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unsure' };

/**
 * `ended`: there may be answers, which `job` leads to. `refused`: the vendor refused the job as a whole; `isBusy` if a later
 * one may succeed.
 */
export type JobState =
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly job: JsonObject }
  | { readonly kind: 'refused'; readonly isBusy: boolean; readonly reason: string };

/** The vendor's answer to one request. The status is that of a direct request; null for a request that did not run. */
export interface BatchResult {
  readonly customId: string;
  readonly status: number | null;
  readonly body: unknown;
}

export interface BatchVendor {
  /** The most requests of one job. */
  readonly maxRequests: number;
  /**
   * Creates a job.
   *
   * @param onSend called right before the request that creates the job, after any preparations
   * @returns the vendor's id of the job
   * @throws UpstreamError if the vendor refuses the job, or its answer is lost; the error of `onSend`
   */
  create(order: BatchOrder, client: BatchClient, onSend: () => Promise<void>): Promise<string>;
  /**
   * Looks for a job in the vendor's list.
   *
   * @param findKnown returns those vendor's ids that belong to other jobs
   */
  find(
    job: SentJob,
    client: BatchClient,
    findKnown: (vendorIds: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<FoundJob>;
  /** @throws UpstreamError, with the status 404 for a job that the vendor no longer has */
  read(vendorId: string, client: BatchClient): Promise<JobState>;
  /** The answers of a job that has ended, in any order; null for one that is not readable. */
  results(job: JsonObject, client: BatchClient): AsyncIterable<BatchResult | null>;
  cancel(vendorId: string, client: BatchClient): Promise<void>;
}

/** The pages of a vendor's list that are read. */
export const MAX_PAGES = 10;

/** The vendor's clock may differ from Genway's. */
export const CLOCK_SLACK_MS = 10 * 60_000;

/** @throws UpstreamError for a document without an id */
export function idOf({ id }: JsonObject): string {
  if (typeof id !== 'string' || id === '') throw new UpstreamError(FAILED);
  return id;
}

export function customIdOf(mark: string, number: number): string {
  return `${mark}-${number}`;
}

/** The number of the line in a custom id of a job; null for the custom id of another. */
export function numberOf(mark: string, customId: string): number | null {
  const number = customId.startsWith(`${mark}-`) ? customId.slice(mark.length + 1) : '';
  return /^[1-9]\d{0,4}$/.test(number) ? Number(number) : null;
}

/** The checks of a reconciliation, and their results. */
import type { Database } from '../database.ts';

/** A question about all rows. */
export interface Check {
  readonly name: string;
  readonly question: string;
  /** The remedy of a finding, for an operator. */
  readonly remedy: string;
  /** The rows for which the answer is no. */
  find(sources: Sources): AsyncIterable<Discrepancy>;
}

/** A row that disagrees with other rows. */
export interface Discrepancy {
  /** The id of the row. */
  readonly subject: string;
  /** The disagreement; amounts are in pico-USD. */
  readonly detail: string;
}

/** The sources that checks read. */
export interface Sources {
  /** A consistent snapshot of the database. */
  readonly snapshot: Database;
  /** The current database, for comparisons with external systems. */
  readonly database: Database;
  readonly workflows: WorkflowLookup;
  readonly files: FileLookup;
}

/** The operations of the store that a reconciliation needs. */
export interface FileLookup {
  /** The size of the file in bytes; null if it does not exist. */
  sizeOf(key: string): Promise<number | null>;
  /** The key in a link to a file of the store; null for any other link. */
  keyOf(url: string): string | null;
}

/** The operations of Temporal that a reconciliation needs. */
export interface WorkflowLookup {
  /** Lists the ids of tasks or deliveries with open workflows. */
  listOpen(workflowType: 'mediaTask' | 'webhookDelivery'): AsyncIterable<string>;
  /** Whether the task or delivery has an open workflow. */
  isOpen(id: string): Promise<boolean>;
}

export interface Finding extends Discrepancy {
  readonly check: string;
  readonly remedy: string;
}

export interface CheckResult {
  readonly check: string;
  readonly question: string;
  /** The number of findings. A report shows only the first ones. */
  readonly findings: number;
  readonly durationMs: number;
}

export interface ReconciliationReport {
  readonly checks: readonly CheckResult[];
  readonly findings: readonly Finding[];
}

/** Makes a check from a statement that returns `subject` and `detail` of each wrong row. */
export function sqlCheck(check: Omit<Check, 'find'> & { readonly sql: string }): Check {
  const { sql, ...rest } = check;
  return {
    ...rest,
    async *find({ snapshot }) {
      const { rows } = await snapshot.raw<{ rows: Discrepancy[] }>(sql);
      yield* rows;
    },
  };
}

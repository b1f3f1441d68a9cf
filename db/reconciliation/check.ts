/** What a reconciliation is made of, and what it says. */
import type { Database } from '../database.ts';

/** Asks one question of everything there is. */
export interface Check {
  readonly name: string;
  readonly question: string;
  /** What an operator should do about a finding. */
  readonly remedy: string;
  /** The rows for which the answer is no. */
  find(sources: Sources): AsyncIterable<Discrepancy>;
}

/** A row that does not agree with the others. */
export interface Discrepancy {
  /** Its id. */
  readonly subject: string;
  /** What is wrong; amounts are in pico-USD. */
  readonly detail: string;
}

/** Where checks look. */
export interface Sources {
  /** One state of the database, whatever else is going on. */
  readonly snapshot: Database;
  /** The database as it is now, for what must be compared with the world outside. */
  readonly database: Database;
  readonly workflows: WorkflowLookup;
  readonly files: FileLookup;
}

/** What a reconciliation asks of the store. */
export interface FileLookup {
  /** Whether the file is there. */
  has(key: string): Promise<boolean>;
  /** The key in a link to a file of the store; null for every other link. */
  keyOf(url: string): string | null;
}

/** What a reconciliation asks of Temporal. */
export interface WorkflowLookup {
  /** The ids of the tasks, or deliveries, whose workflows are open. */
  listOpen(workflowType: 'mediaTask' | 'webhookDelivery'): AsyncIterable<string>;
  /** Whether the task or delivery has a workflow that is open. */
  isOpen(id: string): Promise<boolean>;
}

export interface Finding extends Discrepancy {
  readonly check: string;
  readonly remedy: string;
}

export interface CheckResult {
  readonly check: string;
  readonly question: string;
  /** How many there are; a report shows the first of them. */
  readonly findings: number;
  readonly durationMs: number;
}

export interface ReconciliationReport {
  readonly checks: readonly CheckResult[];
  readonly findings: readonly Finding[];
}

/** A check that is one statement, which returns `subject` and `detail` of each row that is wrong. */
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

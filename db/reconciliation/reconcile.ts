/** Compares everything that concerns money, and reports disagreements. Corrects nothing. */
import type { Database } from '../database.ts';
import { BILL_CHECK } from './bill-check.ts';
import { BUDGET_CHECK } from './budget-check.ts';
import type { Check, CheckResult, Finding, ReconciliationReport, Sources } from './check.ts';
import { LEDGER_CHECKS } from './ledger-checks.ts';
import { PROMO_CHECKS } from './promo-checks.ts';
import { RESULT_CHECK } from './result-check.ts';
import { TEXT_CHECKS } from './text-checks.ts';
import { USAGE_CHECKS } from './usage-checks.ts';
import { DELIVERY_CHECK, WORKFLOW_CHECK } from './workflow-check.ts';

export const CHECKS: readonly Check[] = [
  ...LEDGER_CHECKS,
  ...PROMO_CHECKS,
  ...TEXT_CHECKS,
  BUDGET_CHECK,
  ...USAGE_CHECKS,
  BILL_CHECK,
  WORKFLOW_CHECK,
  DELIVERY_CHECK,
  RESULT_CHECK,
];

const NOT_ABOUT_MONEY: ReadonlySet<string> = new Set(
  [WORKFLOW_CHECK, DELIVERY_CHECK, RESULT_CHECK].map(({ name }) => name),
);

/** Whether what a check finds is about money; so it is taken to be of a check that an earlier release had. */
export function isAboutMoney(check: string): boolean {
  return !NOT_ABOUT_MONEY.has(check);
}

/** A report shows this many findings of each check; more of the same kind share a cause. */
const MAX_FINDINGS_SHOWN = 100;

/**
 * Runs all checks on one snapshot of the database, so that concurrent changes are not reported.
 *
 * @param onProgress called with each check that starts
 */
export async function reconcile(
  database: Database,
  outside: Pick<Sources, 'workflows' | 'files'>,
  onProgress: (check: string) => void = () => {},
): Promise<ReconciliationReport> {
  return database.transaction(async (snapshot) => runChecks(CHECKS, { snapshot, database, ...outside }, onProgress), {
    isolationLevel: 'repeatable read',
    readOnly: true,
  });
}

/** Runs checks one after the other. */
export async function runChecks(
  checks: readonly Check[],
  sources: Sources,
  onProgress: (check: string) => void = () => {},
): Promise<ReconciliationReport> {
  const results: CheckResult[] = [];
  const shown: Finding[] = [];
  for (const check of checks) {
    onProgress(check.name);
    const startedAt = performance.now();
    let findings = 0;
    for await (const { subject, detail } of check.find(sources)) {
      findings += 1;
      if (findings <= MAX_FINDINGS_SHOWN) shown.push({ check: check.name, subject, detail, remedy: check.remedy });
    }
    const durationMs = Math.round(performance.now() - startedAt);
    results.push({ check: check.name, question: check.question, findings, durationMs });
  }
  return { checks: results, findings: shown };
}

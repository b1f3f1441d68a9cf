/** Compares all records about money, and reports differences. Corrects nothing. */
import type { Database } from '../database.ts';
import { BILL_CHECK } from './bill-check.ts';
import { BUDGET_CHECK } from './budget-check.ts';
import type { Check, CheckResult, Finding, ReconciliationReport, Sources } from './check.ts';
import { LEDGER_CHECKS } from './ledger-checks.ts';
import { GIFT_CHECK } from './gift-check.ts';
import { PROMO_CHECKS } from './promo-checks.ts';
import { RESULT_CHECK } from './result-check.ts';
import { SIGNUP_CHECK } from './signup-check.ts';
import { TEXT_CHECKS } from './text-checks.ts';
import { USAGE_CHECKS } from './usage-checks.ts';
import { DELIVERY_CHECK, WORKFLOW_CHECK } from './workflow-check.ts';

export const CHECKS: readonly Check[] = [
  ...LEDGER_CHECKS,
  ...PROMO_CHECKS,
  GIFT_CHECK,
  SIGNUP_CHECK,
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

/** Whether the findings of a check are about money. True for unknown checks, which are from an earlier release. */
export function isAboutMoney(check: string): boolean {
  return !NOT_ABOUT_MONEY.has(check);
}

/** The number of findings per check in a report. Further findings of a check share a cause. */
const MAX_FINDINGS_SHOWN = 100;

/**
 * Runs all checks on one snapshot of the database, so that concurrent changes cause no findings.
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

/** Runs checks one at a time. */
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

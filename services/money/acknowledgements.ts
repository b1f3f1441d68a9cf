/** Acknowledges findings of reconciliation that cannot be remedied, so that they do not keep a month open forever. */
import type { Database } from '../../db/database.ts';
import {
  type Acknowledgement,
  type AcknowledgementOutcome,
  decideAcknowledgement as decide,
  insertAcknowledgement,
  lockAcknowledgement,
} from '../../db/queries/acknowledgements.ts';
import { findReconciliation } from '../../db/queries/reconciliations.ts';
import type { Finding } from '../../db/reconciliation/check.ts';
import { isAboutMoney } from '../../db/reconciliation/reconcile.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { DualControl } from './dual-control.ts';

export interface Acknowledging {
  readonly reconciliationId: string;
  /** The numbers of the findings in the report, counted from 1. */
  readonly numbers: readonly number[];
  readonly reason: string;
  readonly author: string;
}

/**
 * Records why findings stay as they are. Under dual control, findings about money wait for a second person. Findings
 * that were acknowledged before stay acknowledged.
 *
 * @returns whether a finding waits for a second person
 * @throws ServiceError `not_found`; `bad_request` for a finding that the report does not have
 */
export async function acknowledgeFindings(
  { database, ...dualControl }: DualControl & { readonly database: Database },
  { reconciliationId, numbers, reason, author }: Acknowledging,
): Promise<boolean> {
  const findings = await findingsOf(database, reconciliationId, numbers);
  await database.transaction(async (transaction) => {
    for (const finding of findings) {
      const { check: checkName, subject, detail } = finding;
      const requiresSecondApproval = isSecondApprovalRequired(finding, dualControl);
      const acknowledgement = { id: newId('acknowledgement'), reconciliationId, checkName, subject, detail };
      await insertAcknowledgement(transaction, { ...acknowledgement, reason, author, requiresSecondApproval });
    }
  });
  return findings.some((finding) => isSecondApprovalRequired(finding, dualControl));
}

/**
 * Acknowledges findings for a token, which is not a person: only findings that need no second approval.
 *
 * @throws ServiceError `forbidden` for other findings, with the page for two people; as {@link acknowledgeFindings}
 */
export async function acknowledgeAlone(
  services: DualControl & { readonly database: Database },
  acknowledging: Acknowledging,
): Promise<void> {
  const { reconciliationId, numbers } = acknowledging;
  const findings = await findingsOf(services.database, reconciliationId, numbers);
  if (findings.some((finding) => isSecondApprovalRequired(finding, services))) {
    throw new ServiceError(
      'forbidden',
      'Acknowledging a finding about money requires two people: acknowledge it at ' +
        `${services.publicUrl}/console/staff/reconciliations/${reconciliationId}, where a second person confirms it.`,
    );
  }
  await acknowledgeFindings(services, acknowledging);
}

function isSecondApprovalRequired({ check }: Finding, { money }: DualControl): boolean {
  return money.secondApprovalAbove !== null && isAboutMoney(check);
}

async function findingsOf(
  database: Database,
  reconciliationId: string,
  numbers: readonly number[],
): Promise<readonly Finding[]> {
  const reconciliation = await findReconciliation(database, reconciliationId);
  if (!reconciliation) throw new ServiceError('not_found', 'There is no such reconciliation. Check the id.');
  const known = reconciliation.report?.findings ?? [];
  if (numbers.length === 0) throw badRequest('Choose the findings to acknowledge.');
  return numbers.map((number) => {
    const finding = known[number - 1];
    if (!finding) throw badRequest(`The report has no finding ${number}: it shows ${known.length} findings.`);
    return finding;
  });
}

/**
 * Confirms, rejects or withdraws an acknowledgement that waits for a second person, once. The same decision again
 * changes nothing.
 *
 * @throws ServiceError `not_found`; `forbidden` when the person may not decide; `idempotency_conflict` when it was
 *   decided before
 */
export function decideAcknowledgement(
  database: Database,
  { id, outcome, by }: { readonly id: string; readonly outcome: AcknowledgementOutcome; readonly by: string },
): Promise<void> {
  return database.transaction(async (transaction) => {
    const acknowledgement = await lockAcknowledgement(transaction, id);
    if (!acknowledgement) throw new ServiceError('not_found', 'There is no such acknowledgement. Open the page again.');
    if (acknowledgement.outcome === outcome && acknowledgement.decidedBy === by) return;
    assertMayDecide(acknowledgement, outcome, by);
    await decide(transaction, id, { outcome, by });
  });
}

function assertMayDecide(
  { author, outcome: decided, decidedBy }: Acknowledgement,
  outcome: AcknowledgementOutcome,
  by: string,
): void {
  if (decided !== null) {
    throw new ServiceError(
      'idempotency_conflict',
      `${decidedBy ?? 'Another person'} has already decided: the acknowledgement is ${decided}.`,
    );
  }
  if (outcome === 'withdrawn' && by !== author) {
    throw new ServiceError('forbidden', `Only ${author} can withdraw this acknowledgement. You may reject it.`);
  }
  if (outcome !== 'withdrawn' && by === author) {
    throw new ServiceError('forbidden', 'A second person must confirm your acknowledgement. You may withdraw it.');
  }
}

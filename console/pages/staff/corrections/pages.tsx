/** Manual corrections of balances. Corrections above an amount need two people. */
import { adjustmentSchema, topUpSchema } from '../../../../api/routes/admin/schema.ts';
import { correct as correctOrAsk, decide } from '../../../../api/services/finance/corrections.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { createValidator } from '../../../../api/validation.ts';
import {
  type CorrectionOutcome,
  listDecidedCorrections,
  listPendingCorrections,
} from '../../../../db/queries/corrections.ts';
import { listAdjustments } from '../../../../db/queries/transfers.ts';
import type { ServiceError } from '../../../../domain/errors.ts';
import { newId } from '../../../../domain/ids.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { carryOut } from '../../../form-problem.ts';
import { readListPage } from '../../../list-page.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { CorrectionContent } from './content.tsx';

const ADJUSTMENT_LIST = { kind: 'transfer', size: 50 } as const;
/** More than finance leaves pending. */
const MAX_PENDING = 100;
const DECIDED_SHOWN = 25;

const validateAdjustment = createValidator(adjustmentSchema);
const validateTopUp = createValidator(topUpSchema);

export const staffCorrectionPages = [
  staff.page('/staff/corrections', 'read', (visit, services) => showCorrections(visit, services, null)),
  staff.form('/staff/corrections', 'moveMoney', (visit, services) =>
    act(visit, services, () => correct(visit, services)),
  ),
  deciding('approve', 'approved'),
  deciding('reject', 'rejected'),
  deciding('withdraw', 'withdrawn'),
];

function deciding(name: string, outcome: CorrectionOutcome) {
  return staff.form(`/staff/corrections/{correction_id}/${name}`, 'moveMoney', (visit, services) =>
    act(visit, services, () =>
      decide(services.database, { id: visit.params['correction_id'] ?? '', outcome, by: visit.user.email }),
    ),
  );
}

async function act(visit: UserVisit, services: ApiServices, work: () => Promise<void>): Promise<PageResult> {
  return carryOut(work, '/staff/corrections', (problem) => {
    if (visit.params['correction_id'] !== undefined && problem.code === 'not_found') throw problem;
    return showCorrections(visit, services, problem);
  });
}

/** Books a correction, or creates a pending correction for a second person. */
async function correct({ form, user: { email: author } }: UserVisit, services: ApiServices): Promise<void> {
  const given = { amount_usd: form.text('amount_usd') };
  const { amount_usd: amountUsd, reason } = validateAdjustment({ ...given, reason: form.text('reason') });
  const reference = form.optional('reference');
  if (reference !== null) validateTopUp({ ...given, reference });
  const asked = { id: form.text('correction_id'), accountId: form.text('account_id'), amount: parseUsd(amountUsd) };
  await correctOrAsk(services, { ...asked, reference, reason, author }, form.text('adjustment_id'));
}

async function showCorrections(
  visit: UserVisit,
  { database, reports, fourEyesAbove }: ApiServices,
  problem: ServiceError | null,
): Promise<PageResult> {
  const [pending, decided, { entries: adjustments, next }] = await Promise.all([
    listPendingCorrections(database, MAX_PENDING),
    listDecidedCorrections(database, DECIDED_SHOWN),
    readListPage(visit.query, ADJUSTMENT_LIST, (slice) => listAdjustments(reports, slice)),
  ]);
  const isSentBefore = problem?.code === 'idempotency_conflict';
  const idOf = (kind: 'transfer' | 'correction', name: string): string =>
    (isSentBefore ? null : visit.form.optional(name)) ?? newId(kind);
  return showPage(
    'corrections',
    visit.texts.corrections.title,
    <CorrectionContent
      pending={pending}
      decided={decided}
      adjustments={adjustments}
      next={next}
      fourEyesAbove={fourEyesAbove}
      formIds={{
        correctionId: idOf('correction', 'correction_id'),
        adjustmentId: idOf('transfer', 'adjustment_id'),
      }}
      visit={visit}
    />,
    problem,
  );
}

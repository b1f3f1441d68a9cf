/** Manual corrections of balances. Corrections above an amount require a second approval. */
import { TRANSFER } from '../../../../services/resources/admin.ts';
import { adjustmentSchema, topUpSchema } from '../../../../services/input/admin.ts';
import { correct as correctOrAsk, decide } from '../../../../services/money/corrections.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import {
  type Correction,
  type CorrectionOutcome,
  listDecidedCorrections,
  listPendingCorrections,
} from '../../../../db/queries/corrections.ts';
import { listPendingMerges } from '../../../../db/queries/account-merges.ts';
import { listAdjustments } from '../../../../db/queries/transfers.ts';
import { parseUsd, type PicoUsd } from '../../../../domain/money.ts';
import { CORRECTIONS } from '../../../../domain/policy.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Card, ExactMoney, Field, Form, Time, usd } from '../../../html/components.tsx';
import { Decisions } from '../../../html/decisions.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { accountsOf, MergeTable } from '../accounts/merge.tsx';
import { createdIdOf } from '../../../idempotent-forms.ts';
import { readListPage } from '../../../list-page.ts';
import { hasPermission, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';

const PATH = '/staff/corrections';
/** More than finance ever leaves pending. */
const MAX_PENDING = 100;
const DECIDED_SHOWN = 25;

const validateAdjustment = createValidator(adjustmentSchema);
const validateTopUp = createValidator(topUpSchema);

const page = staff.page(PATH, 'read', showCorrections);

export const staffCorrectionPages = [
  page,
  page.form('', 'moveMoney', correct, (_visit, booked) => (booked === null ? 'waits' : `booked:${booked}`)),
  deciding('approve', 'approved'),
  deciding('reject', 'rejected'),
  deciding('withdraw', 'withdrawn'),
];

function deciding(name: string, outcome: CorrectionOutcome) {
  return page.form(
    `/{correction_id}/${name}`,
    'moveMoney',
    ({ params, user }, { database }) =>
      decide(database, { id: params['correction_id'] ?? '', outcome, by: user.email }),
    outcome,
  );
}

/** Books a correction, or creates a pending correction for a second person. @returns the booked amount; null if it is pending */
async function correct(visit: UserVisit, services: ApiServices): Promise<PicoUsd | null> {
  const { form, user } = visit;
  const given = { amount_usd: form.text('amount_usd') };
  const { amount_usd: amountUsd, reason } = validateAdjustment({ ...given, reason: form.text('reason') });
  const reference = form.optional('reference');
  if (reference !== null) validateTopUp({ ...given, reference });
  const asked = {
    id: createdIdOf('correction', visit),
    accountId: form.text('account_id'),
    amount: parseUsd(amountUsd),
  };
  const correction = { ...asked, reference, reason, author: user.email };
  return (await correctOrAsk(services, correction, createdIdOf('transfer', visit))) ? asked.amount : null;
}

async function showCorrections(
  visit: UserVisit,
  { database, reports, money: { secondApprovalAbove } }: ApiServices,
): Promise<PageResult> {
  const [pending, merges, decided, { entries: adjustments, next }] = await Promise.all([
    listPendingCorrections(database, MAX_PENDING),
    listPendingMerges(database, MAX_PENDING),
    listDecidedCorrections(database, DECIDED_SHOWN),
    readListPage(visit.query, 'transfer', (slice) => listAdjustments(reports, slice)),
  ]);
  const { corrections: messages, titles, fields, common } = visit.texts;
  return withAccountNames(
    reports,
    [...adjustments.map(({ accountId }) => accountId), ...accountsOf(merges)],
    showPage(
      titles.corrections,
      <p class="soft">
        {messages.explained}{' '}
        {secondApprovalAbove === null
          ? messages.oneIsEnough
          : messages.requiresSecondApproval(usd(secondApprovalAbove), CORRECTIONS.addUpHours, CORRECTIONS.pendingDays)}
      </p>,
      secondApprovalAbove === null && pending.length === 0 ? null : <Pending pending={pending} />,
      merges.length === 0 ? null : <MergeTable title={visit.texts.merges.pending} merges={merges} />,
      hasPermission(visit, 'moveMoney') ? (
        <Card title={messages.ask}>
          <Form action={`/console${PATH}`} class="grid" submit={messages.submit}>
            <Field name="account_id" label={common.accountId} required />
            <Field name="amount_usd" label={common.amountInUsd} hint={common.amountHint} inputMode="text" required />
            <Field name="reason" required />
            <Field
              name="reference"
              label={`${messages.reference} (${common.optional})`}
              hint={messages.referenceHint}
            />
          </Form>
        </Card>
      ) : null,
      decided.length === 0 ? null : <Decided decided={decided} />,
      <TableCard
        title={messages.booked}
        of={TRANSFER}
        rows={adjustments}
        none={messages.noneBooked}
        columns={[
          [common.when, 'created_at'],
          [
            fields.amount_usd,
            ({ credit, amount }) => <ExactMoney amount={credit === 'available' ? amount : -amount} />,
            'number',
          ],
          'reason',
          'author',
          'account_id',
        ]}
        next={next}
      />,
    ),
  );
}

const CORRECTION = nested<Correction>({
  amount_usd: field.usd('amount'),
  reason: field.text('reason'),
  reference: field.text.orNull('reference'),
  author: field.text('author'),
  created_at: field.isoTime('createdAt'),
  expires_at: field.isoTime('expiresAt'),
  transfer_id: field.id('transfer').orNull('transferId'),
});

/** The first columns of every table of corrections. */
function columnsOf({ fields, corrections: messages }: UserVisit['texts']) {
  return [
    [fields.account_id, ({ accountName }: Correction) => accountName],
    'amount_usd',
    'reason',
    [messages.asked, 'author'],
  ] as const;
}

const SHARED = {
  of: CORRECTION,
  notes: { reason: 'reference', author: 'created_at' },
  pageOf: ({ accountId }: Correction) => `/console/staff/accounts/${accountId}`,
} as const;

function ByAt({ author, at }: { author: string | null; at: Date }) {
  return (
    <>
      {author}
      <br />
      <Time at={at} />
    </>
  );
}

function Pending({ pending }: { pending: readonly Correction[] }) {
  const texts = useTexts();
  const { corrections: messages } = texts;
  return (
    <TableCard
      {...SHARED}
      title={messages.pending}
      rows={pending}
      none={messages.nonePending}
      columns={[
        ...columnsOf(texts),
        [messages.until, 'expires_at'],
        [messages.decision, ({ id, author }) => <Decisions author={author} path={`/console${PATH}/${id}`} />],
      ]}
    />
  );
}

function Decided({ decided }: { decided: readonly Correction[] }) {
  const texts = useTexts();
  const { corrections: messages, common } = texts;
  return (
    <TableCard
      title={messages.decided}
      {...SHARED}
      rows={decided}
      columns={[
        ...columnsOf(texts),
        [
          common.result,
          ({ outcome, decidedAt, decidedBy }) => (
            <>
              <Chosen name="outcome" value={outcome ?? 'expired'} />
              {decidedAt === null ? null : (
                <p class="hint">
                  <ByAt author={decidedBy} at={decidedAt} />
                </p>
              )}
            </>
          ),
        ],
        'transfer_id',
      ]}
    />
  );
}

/** Manual corrections of balances. Corrections above an amount require a second approval. */
import { TRANSFER } from '../../../../services/resources/admin.ts';
import { decide } from '../../../../services/money/corrections.ts';
import type { ApiServices } from '../../../../api/services.ts';
import {
  type Correction,
  type CorrectionOutcome,
  listDecidedCorrections,
  listPendingCorrections,
} from '../../../../db/queries/corrections.ts';
import { listPendingMerges } from '../../../../db/queries/account-merges.ts';
import { listAdjustments } from '../../../../db/queries/transfers.ts';
import { CORRECTIONS } from '../../../../domain/policy.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Card, ExactMoney, Field, Form, Time, usd } from '../../../html/components.tsx';
import { Decisions } from '../../../html/decisions.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { accountsOf, MergeTable } from '../accounts/merge.tsx';
import { readListPage } from '../../../list-page.ts';
import { CorrectionFields, correctByForm, correctedTo } from './form.tsx';
import { hasPermission, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';

const PATH = '/staff/corrections';
/** More than finance ever leaves pending. */
const MAX_PENDING = 100;
const DECIDED_SHOWN = 25;

const page = staff.page(PATH, 'read', showCorrections);

export const staffCorrectionPages = [
  page,
  page.form(
    '',
    'moveMoney',
    (visit, services) => correctByForm(visit, services, visit.form.text('account_id')),
    (_visit, booked) => correctedTo(booked),
  ),
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
            <Field name="account_id" label={common.accountId} value={visit.query.get('account')} required />
            <CorrectionFields />
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

/** Gift codes, which finance issues in batches. */
import type { ApiServices } from '../../../../api/services.ts';
import {
  type GiftBatch,
  listGiftBatches,
  listRedeemedGiftCodes,
  type RedeemedGiftCode,
} from '../../../../db/queries/gift-codes.ts';
import { GIFT_KINDS, GIFT_LIMITS, giftStatusOf } from '../../../../domain/gift-code.ts';
import { GIFT_CODES } from '../../../../domain/policy.ts';
import { toCsv } from '../../../../services/exported-rows.ts';
import { issueGiftsSchema, toGiftBatch, withdrawGiftsSchema } from '../../../../services/input/gift-codes.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import {
  approveBatch,
  existingGiftBatch,
  issueGiftBatch,
  type IssuedGiftBatch,
  withdrawBatch,
} from '../../../../services/money/gift-codes.ts';
import { GIFT_BATCH, ISSUED_GIFT_CODE, REDEEMED_GIFT_CODE } from '../../../../services/resources/gift-codes.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Card, Choice, Copyable, Field, Form, FormButton } from '../../../html/components.tsx';
import { usePage, useTexts } from '../../../html/page-context.ts';
import { ResourceFacts, TableCard } from '../../../html/resource-table.tsx';
import { createdIdOf } from '../../../idempotent-forms.ts';
import { readListPage } from '../../../list-page.ts';
import { hasPermission, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { wordFor } from '../../../texts/texts.ts';

const PATH = '/staff/gift-codes';

const validateIssue = createValidator(issueGiftsSchema);
const validateWithdrawal = createValidator(withdrawGiftsSchema);

const listPage = staff.page(PATH, 'read', showBatches);
const batchPage = staff.page(`${PATH}/{gift_batch_id}`, 'read', showBatch);

export const staffGiftCodePages = [
  listPage,
  listPage.form('', 'moveMoney', issue, showCodes),
  batchPage,
  batchPage.form(
    '/approve',
    'moveMoney',
    (visit, { database }) => approveBatch(database, idOf(visit), visit.user.email),
    'giftsApproved',
  ),
  batchPage.form(
    '/withdraw',
    'moveMoney',
    (visit, { database }) => {
      const { reason } = validateWithdrawal({ reason: visit.form.text('reason') });
      return withdrawBatch(database, idOf(visit), { author: visit.user.email, reason });
    },
    'giftsWithdrawn',
  ),
];

function idOf({ params }: UserVisit): string {
  return params['gift_batch_id'] ?? '';
}

/** @returns the batch with its codes, and the codes as a file for spreadsheets */
async function issue(visit: UserVisit, services: ApiServices) {
  const { form, user } = visit;
  const days = form.optional('credit_days');
  const body = validateIssue({
    label: form.text('label'),
    kind: form.text('kind'),
    amount_usd: form.text('amount_usd'),
    count: Number(form.text('count')),
    expires_at: form.text('expires_at'),
    credit_days: days === null ? null : Number(days),
    once_per: form.optional('once_per'),
  });
  const batch = await issueGiftBatch(services, toGiftBatch(body, user.email, createdIdOf('giftBatch', visit)));
  const rows = batch.giftCodes.map((code) => ({ ...batch, code }));
  let csv = '';
  for await (const line of toCsv(rows, ISSUED_GIFT_CODE.columns)) csv += line;
  return { batch, csv };
}

function showCodes({ texts }: UserVisit, { batch, csv }: { batch: IssuedGiftBatch; csv: string }): PageResult {
  const { giftCodes: messages, common } = texts;
  return showPage(
    messages.issued,
    <Card>
      <p>{messages.shownOnce}</p>
      {batch.requiresSecondApproval ? <p>{messages.awaitsApproval}</p> : null}
      <Copyable text={batch.giftCodes.join('\n')} label={messages.issued} lines />
      <p class="row">
        <a
          class="button"
          href={`data:text/csv;charset=utf-8;base64,${Buffer.from(csv).toString('base64')}`}
          download={`${batch.id}.csv`}
        >
          {messages.download}
        </a>
        <a class="button quiet" href={`/console${PATH}/${batch.id}`}>
          {common.done}
        </a>
      </p>
    </Card>,
  );
}

async function showBatches(visit: UserVisit, { reports }: ApiServices): Promise<PageResult> {
  const { entries, next } = await readListPage(visit.query, 'giftBatch', (slice) => listGiftBatches(reports, slice));
  const { giftCodes: messages, titles } = visit.texts;
  return showPage(
    titles.giftCodes,
    <p class="soft">{messages.hint}</p>,
    <TableCard
      of={GIFT_BATCH}
      rows={entries}
      none={messages.none}
      pageOf={({ id }) => `/console${PATH}/${id}`}
      columns={['label', 'status', 'issued_usd', 'redeemed_usd', 'open_usd', 'expired_usd', 'withdrawn_usd', 'author']}
      notes={{ label: 'created_at', status: 'expires_at' }}
      next={next}
    />,
    hasPermission(visit, 'moveMoney') ? <IssueForm /> : null,
  );
}

function IssueForm() {
  const texts = useTexts();
  const { giftCodes: messages, common } = texts;
  return (
    <Card title={messages.issue}>
      <Form action={`/console${PATH}`} class="grid" submit={messages.issue}>
        <Field name="label" hint={messages.labelHint} required />
        <Choice name="kind" options={GIFT_KINDS.map((kind) => [kind, wordFor('kind', kind, texts)] as const)} />
        <Field name="amount_usd" label={messages.amount} inputMode="decimal" required />
        <Field name="count" hint={messages.countHint(GIFT_CODES.maxCodes)} inputMode="numeric" required />
        <Field name="expires_at" hint={messages.expiryHint} type="datetime-local" required />
        <Field
          name="credit_days"
          label={`${texts.fields.credit_days} (${common.optional})`}
          hint={messages.daysHint}
          inputMode="numeric"
        />
        <Choice
          name="once_per"
          hint={messages.limitHint}
          options={[
            ['', messages.noLimit],
            ...GIFT_LIMITS.map((limit) => [limit, wordFor('once_per', limit, texts)] as const),
          ]}
        />
      </Form>
    </Card>
  );
}

async function showBatch(visit: UserVisit, { database, reports }: ApiServices): Promise<PageResult> {
  const batch = await existingGiftBatch(database, idOf(visit));
  const { entries, next } = await readListPage(visit.query, 'giftCode', (slice) =>
    listRedeemedGiftCodes(reports, { batchId: batch.id, ...slice }),
  );
  return withAccountNames(
    reports,
    entries.map(({ accountId }) => accountId),
    showPage(
      batch.label,
      <BatchCard batch={batch} />,
      hasPermission(visit, 'moveMoney') ? <Actions batch={batch} /> : null,
      <Redeemed entries={entries} next={next} />,
    ),
  );
}

function BatchCard({ batch }: { batch: GiftBatch }) {
  return (
    <Card>
      <ResourceFacts
        of={GIFT_BATCH}
        row={batch}
        columns={[
          'status',
          'kind',
          'amount_usd',
          'count',
          'issued_usd',
          'redeemed_usd',
          'open_usd',
          'expired_usd',
          'withdrawn_usd',
          'expires_at',
          batch.creditDays === null ? null : 'credit_days',
          batch.oncePer === null ? null : 'once_per',
          'author',
          'created_at',
          batch.approvedBy === null ? null : 'approved_by',
          batch.withdrawnBy === null ? null : 'withdrawn_by',
          batch.withdrawnBy === null ? null : 'withdrawal_reason',
        ]}
      />
    </Card>
  );
}

function Actions({ batch }: { batch: GiftBatch }) {
  const { session } = usePage();
  const { giftCodes: messages } = useTexts();
  const status = giftStatusOf(batch, new Date());
  const path = `/console${PATH}/${batch.id}`;
  const isAwaiting = status === 'awaiting_approval';
  if (status !== 'open' && !isAwaiting) return null;
  return (
    <Card title={messages.change}>
      {isAwaiting ? <p>{messages.awaitsApproval}</p> : null}
      {isAwaiting && session?.user.email !== batch.author ? (
        <FormButton action={`${path}/approve`} label={messages.approve} look="" />
      ) : null}
      <Form action={`${path}/withdraw`} submit={messages.withdraw} look="danger">
        <Field name="reason" hint={messages.withdrawHint} required />
      </Form>
    </Card>
  );
}

function Redeemed({ entries, next }: { entries: readonly RedeemedGiftCode[]; next: string | null }) {
  const { giftCodes: messages } = useTexts();
  return (
    <TableCard
      title={messages.redeemed}
      of={REDEEMED_GIFT_CODE}
      rows={entries}
      none={messages.noneRedeemed}
      columns={['redeemed_at', 'account_id', 'id', 'credit_id']}
      next={next}
    />
  );
}

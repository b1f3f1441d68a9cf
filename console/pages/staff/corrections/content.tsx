import { TRANSFER } from '../../../../api/routes/admin/present.ts';
import type { Correction } from '../../../../db/queries/corrections.ts';
import type { Transfer } from '../../../../db/queries/transfers.ts';
import type { PicoUsd } from '../../../../domain/money.ts';
import { CORRECTIONS } from '../../../../domain/policy.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Card, ExactMoney, Field, Form, FormButton, Pages, Time, usd } from '../../../html/components.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';

interface Props {
  readonly pending: readonly Correction[];
  readonly decided: readonly Correction[];
  /** Corrections of all accounts, newest first. */
  readonly adjustments: readonly Transfer[];
  readonly next: string | null;
  readonly fourEyesAbove: PicoUsd | null;
  /** The ids of the correction and the adjustment that the form creates, so that both are created once. */
  readonly formIds: { readonly correctionId: string; readonly adjustmentId: string };
  readonly visit: UserVisit;
}

const PATH = '/console/staff/corrections';

export function CorrectionContent(props: Props) {
  const { pending, decided, fourEyesAbove, visit } = props;
  const { corrections: words } = visit.texts;
  return (
    <>
      <p class="soft">
        {words.explained}{' '}
        {fourEyesAbove === null
          ? words.oneIsEnough
          : words.requiresSecondApproval(usd(fourEyesAbove), CORRECTIONS.addUpHours, CORRECTIONS.pendingDays)}
      </p>
      {fourEyesAbove === null && pending.length === 0 ? null : <Pending pending={pending} visit={visit} />}
      {may(visit, 'moveMoney') ? <CorrectionForm {...props} /> : null}
      {decided.length === 0 ? null : <Decided decided={decided} visit={visit} />}
      <Adjustments {...props} />
    </>
  );
}

function CorrectionForm({ formIds, visit: { texts } }: Props) {
  const { corrections: words, common } = texts;
  return (
    <Card title={words.ask}>
      <Form action={PATH} class="grid">
        <input type="hidden" name="correction_id" value={formIds.correctionId} />
        <input type="hidden" name="adjustment_id" value={formIds.adjustmentId} />
        <Field name="account_id" label={words.accountId} required />
        <Field name="amount_usd" label={words.amountInUsd} hint={words.amountHint} inputMode="text" required />
        <Field name="reason" required />
        <Field name="reference" label={`${words.reference} (${common.optional})`} hint={words.referenceHint} />
        <div>
          <button type="submit">{words.submit}</button>
        </div>
      </Form>
    </Card>
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
function columnsOf({ fields, corrections: words }: UserVisit['texts']) {
  return [
    [fields.account_id, ({ accountName }: Correction) => accountName],
    'amount_usd',
    'reason',
    [words.asked, 'author'],
  ] as const;
}

const SHARED = {
  of: CORRECTION,
  notes: { reason: 'reference', author: 'created_at' },
  pageOf: ({ accountId }: Correction) => `/console/staff/accounts/${accountId}`,
} as const;

function ByAt({ author, at }: { readonly author: string | null; readonly at: Date }) {
  return (
    <>
      {author}
      <br />
      <Time at={at} />
    </>
  );
}

function Pending({ pending, visit }: Pick<Props, 'pending' | 'visit'>) {
  const { corrections: words } = visit.texts;
  return (
    <TableCard
      {...SHARED}
      title={words.pending}
      rows={pending}
      none={words.nonePending}
      columns={[
        ...columnsOf(visit.texts),
        [words.until, 'expires_at'],
        [words.decision, (correction) => <Decisions correction={correction} visit={visit} />],
      ]}
    />
  );
}

function Decisions({ correction, visit }: { readonly correction: Correction; readonly visit: UserVisit }) {
  const { texts, user } = visit;
  if (!may(visit, 'moveMoney')) return <>–</>;
  const decisions = correction.author === user.email ? (['withdraw'] as const) : (['approve', 'reject'] as const);
  return (
    <div class="row">
      {decisions.map((decision) => (
        <FormButton
          action={`${PATH}/${correction.id}/${decision}`}
          label={texts.corrections[decision]}
          look={decision === 'approve' ? '' : 'quiet'}
        />
      ))}
    </div>
  );
}

function Decided({ decided, visit: { texts } }: Pick<Props, 'decided' | 'visit'>) {
  const { corrections: words } = texts;
  return (
    <TableCard
      title={words.decided}
      {...SHARED}
      rows={decided}
      columns={[
        ...columnsOf(texts),
        [
          words.result,
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

function Adjustments({ adjustments, next, visit: { texts } }: Props) {
  const { corrections: words } = texts;
  return (
    <TableCard
      title={words.booked}
      of={TRANSFER}
      rows={adjustments}
      none={words.noneBooked}
      columns={[
        [words.when, 'created_at'],
        [
          texts.fields.amount_usd,
          ({ credit, amount }) => <ExactMoney amount={credit === 'available' ? amount : -amount} />,
          'number',
        ],
        'reason',
        'author',
        'account_id',
      ]}
    >
      <Pages path={PATH} next={next} />
    </TableCard>
  );
}

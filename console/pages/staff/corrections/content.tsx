import type { Correction } from '../../../../db/queries/corrections.ts';
import type { Transfer } from '../../../../db/queries/transfers.ts';
import type { PicoUsd } from '../../../../domain/money.ts';
import { CORRECTIONS } from '../../../../domain/policy.ts';
import {
  Badge,
  Card,
  ExactMoney,
  Field,
  Form,
  FormButton,
  Pages,
  Problem,
  Time,
  usd,
} from '../../../html/components.tsx';
import { DataTable } from '../../../html/data-table.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import { may, type UserVisit } from '../../../page.ts';

interface Props {
  readonly pending: readonly Correction[];
  readonly decided: readonly Correction[];
  /** Of all accounts, newest first. */
  readonly adjustments: readonly Transfer[];
  readonly next: string | null;
  readonly fourEyesAbove: PicoUsd | null;
  /** What the form makes has these ids, so that it is made once. */
  readonly formIds: { readonly correctionId: string; readonly adjustmentId: string };
  readonly problem: string | null;
  readonly visit: UserVisit;
}

const ROOM = '/console/staff/corrections';

export function CorrectionContent(props: Props) {
  const { pending, decided, problem, fourEyesAbove, visit } = props;
  const { corrections: words } = visit.texts;
  return (
    <>
      <Problem message={problem} />
      <p class="soft">
        {words.explained}{' '}
        {fourEyesAbove === null
          ? words.oneIsEnough
          : words.takesTwo(usd(fourEyesAbove), CORRECTIONS.addUpHours, CORRECTIONS.pendingDays)}
      </p>
      {fourEyesAbove === null && pending.length === 0 ? null : (
        <Card title={words.pending}>
          <Pending pending={pending} visit={visit} />
        </Card>
      )}
      {may(visit, 'moveMoney') ? <CorrectionForm {...props} /> : null}
      {decided.length === 0 ? null : <Decided decided={decided} visit={visit} />}
      <Adjustments {...props} />
    </>
  );
}

function CorrectionForm({ formIds, visit: { texts, session, form } }: Props) {
  const { corrections: words, common } = texts;
  return (
    <Card title={words.ask}>
      <Form token={session.formToken} action={ROOM} class="grid">
        <input type="hidden" name="correction_id" value={formIds.correctionId} />
        <input type="hidden" name="adjustment_id" value={formIds.adjustmentId} />
        <Field name="account_id" label={words.accountId} value={form.text('account_id')} required />
        <Field
          name="amount_usd"
          label={words.amountInUsd}
          hint={words.amountHint}
          inputMode="text"
          value={form.text('amount_usd')}
          required
        />
        <Field name="reason" label={words.reason} value={form.text('reason')} required />
        <Field
          name="reference"
          label={`${words.reference} (${common.optional})`}
          hint={words.referenceHint}
          value={form.text('reference')}
        />
        <div>
          <button type="submit">{words.submit}</button>
        </div>
      </Form>
    </Card>
  );
}

/** What every table of corrections begins with: whose, how much, why and by whom. */
function columnsOf({ corrections: words }: UserVisit['texts']) {
  return [
    [
      words.account,
      ({ accountId, accountName }: Correction) => <a href={`/console/staff/accounts/${accountId}`}>{accountName}</a>,
      'name',
    ],
    [words.amount, 'amount', 'money'],
    [
      words.reason,
      ({ reason, reference }: Correction) => (
        <>
          {reason}
          {reference === null ? null : (
            <p class="hint">
              <code>{reference}</code>
            </p>
          )}
        </>
      ),
    ],
    [words.asked, ({ author, createdAt }: Correction) => <ByAt author={author} at={createdAt} />],
  ] as const;
}

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
    <DataTable
      label={words.pending}
      rows={pending}
      none={words.nonePending}
      columns={[
        ...columnsOf(visit.texts),
        [words.until, 'expiresAt'],
        [words.decision, (correction) => <Decisions correction={correction} visit={visit} />],
      ]}
    />
  );
}

function Decisions({ correction, visit }: { readonly correction: Correction; readonly visit: UserVisit }) {
  const { texts, session, user } = visit;
  if (!may(visit, 'moveMoney')) return <>–</>;
  const decisions = correction.author === user.email ? (['withdraw'] as const) : (['approve', 'reject'] as const);
  return (
    <div class="row">
      {decisions.map((decision) => (
        <FormButton
          token={session.formToken}
          action={`${ROOM}/${correction.id}/${decision}`}
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
    <Card title={words.decided}>
      <DataTable
        label={words.decided}
        rows={decided}
        columns={[
          ...columnsOf(texts),
          [
            words.result,
            ({ outcome, decidedAt, decidedBy }) => (
              <>
                <Badge tone={outcome === 'approved' ? 'good' : 'calm'}>{words.outcomes[outcome ?? 'expired']}</Badge>
                {decidedAt === null ? null : (
                  <p class="hint">
                    <ByAt author={decidedBy} at={decidedAt} />
                  </p>
                )}
              </>
            ),
          ],
          [words.transfer, ({ transferId }) => (transferId === null ? '–' : <AnyId id={transferId} />)],
        ]}
      />
    </Card>
  );
}

function Adjustments({ adjustments, next, visit: { texts, query } }: Props) {
  const { corrections: words } = texts;
  return (
    <Card title={words.booked}>
      <DataTable
        label={words.booked}
        rows={adjustments}
        none={words.noneBooked}
        columns={[
          [words.when, 'createdAt', 'name'],
          [
            words.amount,
            ({ credit, amount }) => <ExactMoney amount={credit === 'available' ? amount : -amount} />,
            'money',
          ],
          [words.reason, 'reason'],
          [words.author, 'author'],
          [words.account, ({ accountId }) => <AnyId id={accountId} />],
        ]}
      />
      <Pages path={ROOM} query={query} next={next} texts={texts} />
    </Card>
  );
}

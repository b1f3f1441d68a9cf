import type { Correction } from '../../../../db/queries/corrections.ts';
import type { Transfer } from '../../../../db/queries/transfers.ts';
import type { PicoUsd } from '../../../../domain/money.ts';
import { CORRECTIONS } from '../../../../domain/policy.ts';
import {
  Badge,
  Card,
  Empty,
  ExactMoney,
  Field,
  Form,
  Pages,
  Problem,
  Table,
  Time,
  usd,
} from '../../../html/components.tsx';
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
  const mayCorrect = may(visit, 'moveMoney');
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
          {pending.length === 0 ? (
            <Empty>{words.nonePending}</Empty>
          ) : (
            <Pending pending={pending} mayDecide={mayCorrect} visit={visit} />
          )}
        </Card>
      )}
      {mayCorrect ? <CorrectionForm {...props} /> : null}
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
function WhatIsAsked({ correction }: { readonly correction: Correction }) {
  const { accountId, accountName, amount, reason, reference, author, createdAt } = correction;
  return (
    <>
      <th scope="row">
        <a href={`/console/staff/accounts/${accountId}`}>{accountName}</a>
      </th>
      <td class="right">
        <ExactMoney amount={amount} />
      </td>
      <td>
        {reason}
        {reference === null ? null : (
          <p class="hint">
            <code>{reference}</code>
          </p>
        )}
      </td>
      <td>
        {author}
        <br />
        <Time at={createdAt} />
      </td>
    </>
  );
}

function Pending({
  pending,
  mayDecide,
  visit: { texts, session, user },
}: {
  readonly pending: readonly Correction[];
  readonly mayDecide: boolean;
  readonly visit: UserVisit;
}) {
  const { corrections: words } = texts;
  return (
    <Table
      label={words.pending}
      columns={[words.account, { number: words.amount }, words.reason, words.asked, words.until, words.decision]}
    >
      {pending.map((correction) => (
        <tr>
          <WhatIsAsked correction={correction} />
          <td>
            <Time at={correction.expiresAt} />
          </td>
          <td>
            {mayDecide ? (
              <div class="row">
                {(correction.author === user.email ? (['withdraw'] as const) : (['approve', 'reject'] as const)).map(
                  (decision) => (
                    <Form token={session.formToken} action={`${ROOM}/${correction.id}/${decision}`}>
                      <button type="submit" class={decision === 'approve' ? '' : 'quiet'}>
                        {words[decision]}
                      </button>
                    </Form>
                  ),
                )}
              </div>
            ) : (
              '–'
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Decided({
  decided,
  visit: { texts },
}: {
  readonly decided: readonly Correction[];
  readonly visit: UserVisit;
}) {
  const { corrections: words } = texts;
  return (
    <Card title={words.decided}>
      <Table
        label={words.decided}
        columns={[words.account, { number: words.amount }, words.reason, words.asked, words.result, words.transfer]}
      >
        {decided.map((correction) => (
          <tr>
            <WhatIsAsked correction={correction} />
            <td>
              <Badge tone={correction.outcome === 'approved' ? 'good' : 'calm'}>
                {words.outcomes[correction.outcome ?? 'expired']}
              </Badge>
              {correction.decidedAt === null ? null : (
                <p class="hint">
                  {correction.decidedBy}
                  <br />
                  <Time at={correction.decidedAt} />
                </p>
              )}
            </td>
            <td>{correction.transferId === null ? '–' : <AnyId id={correction.transferId} />}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function Adjustments({ adjustments, next, visit: { texts, query } }: Props) {
  const { corrections: words } = texts;
  return (
    <Card title={words.booked}>
      {adjustments.length === 0 ? (
        <Empty>{words.noneBooked}</Empty>
      ) : (
        <Table
          label={words.booked}
          columns={[words.when, { number: words.amount }, words.reason, words.author, words.account]}
        >
          {adjustments.map(({ createdAt, credit, amount, reason, author, accountId }) => (
            <tr>
              <th scope="row">
                <Time at={createdAt} />
              </th>
              <td class="right">
                <ExactMoney amount={credit === 'available' ? amount : -amount} />
              </td>
              <td>{reason}</td>
              <td>{author}</td>
              <td>
                <AnyId id={accountId} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Pages path={ROOM} query={query} next={next} texts={texts} />
    </Card>
  );
}

/** The page on which the staff merges an account into another one of the same person. */
import type { ApiServices } from '../../../../api/services.ts';
import { type AccountMerge, listAccountMerges, type MergeOutcome } from '../../../../db/queries/account-merges.ts';
import type { Database } from '../../../../db/database.ts';
import { findAccount } from '../../../../db/queries/accounts.ts';
import { mergeAccountSchema } from '../../../../services/input/admin.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import {
  decideMerge,
  type MergePreview,
  type MergeSidePreview,
  previewMerge,
  requestMerge,
} from '../../../../services/money/merge-accounts.ts';
import { existingAccount } from '../../../../services/people/existing-account.ts';
import { ACCOUNT_MERGE } from '../../../../services/resources/account-merges.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Balance } from '../../../html/balance.tsx';
import { Card, Empty, ExactMoney, Facts, Field, usd } from '../../../html/components.tsx';
import { Decisions } from '../../../html/decisions.tsx';
import { useMay, useTexts } from '../../../html/page-context.ts';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { createdIdOf } from '../../../idempotent-forms.ts';
import { readListPage } from '../../../list-page.ts';
import { hasPermission, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';

const validate = createValidator(mergeAccountSchema);

const page = staff.page('/staff/accounts/{account_id}/merge', 'read', showMerge);

export const staffMergePages = [
  page,
  page.form('', 'moveMoney', request, (_visit, { outcome }) => (outcome === null ? 'waits' : 'merging')),
  deciding('approve', 'approved'),
  deciding('reject', 'rejected'),
  deciding('withdraw', 'withdrawn'),
];

function deciding(name: string, outcome: MergeOutcome) {
  return page.form(
    `/{merge_id}/${name}`,
    'moveMoney',
    ({ params, user }, { database }) =>
      decideMerge(database, { id: params['merge_id'] ?? '', outcome, by: user.email }),
    outcome === 'approved' ? 'merging' : outcome,
  );
}

function request(visit: UserVisit, services: ApiServices): Promise<AccountMerge> {
  const { form, params, user } = visit;
  const { target_account_id: targetId, reason } = validate({
    target_account_id: form.text('target_account_id'),
    reason: form.text('reason'),
  });
  const accounts = { sourceId: params['account_id'] ?? '', targetId };
  return requestMerge(services, { id: createdIdOf('accountMerge', visit), ...accounts, author: user.email, reason });
}

async function showMerge(
  visit: UserVisit,
  { database, money: { secondApprovalAbove } }: ApiServices,
): Promise<PageResult> {
  const { id: sourceId, mergedInto } = await existingAccount(database, visit.params['account_id'] ?? '');
  const targetId = visit.form.text('target_account_id') || (visit.query.get('target') ?? '').trim();
  const target = targetId === '' ? null : await findAccount(database, targetId);
  const { entries: merges, next } = await readListPage(visit.query, 'accountMerge', (slice) =>
    listAccountMerges(database, { accountId: sourceId, ...slice }),
  );
  const { merges: messages, titles, fields } = visit.texts;
  const shown = showPage(
    titles.merge,
    <p>
      <a href={`/console/staff/accounts/${sourceId}`}>{fields.account_id}</a>
    </p>,
    <p class="soft">
      {messages.explained} {secondApprovalAbove === null ? messages.oneIsEnough : messages.requiresSecondApproval}
    </p>,
    hasPermission(visit, 'moveMoney') && mergedInto === null ? (
      <Card title={messages.target}>
        <form method="get" class="row">
          <Field name="target" label={messages.targetId} value={targetId} required />
          <button type="submit" class="quiet">
            {messages.compare}
          </button>
        </form>
        {targetId === '' || target !== null ? null : <Empty>{messages.unknown}</Empty>}
      </Card>
    ) : null,
    target === null || mergedInto !== null || target.id === sourceId
      ? null
      : await showComparison(database, { sourceId, targetId }),
    merges.length === 0 ? null : <MergeTable title={messages.ofAccount} merges={merges} next={next} />,
  );
  return withAccountNames(database, accountsOf(merges), shown);
}

/** The ids of the accounts of merges, for {@link withAccountNames}. */
export function accountsOf(merges: readonly AccountMerge[]): readonly string[] {
  return merges.flatMap(({ sourceId, targetId }) => [sourceId, targetId]);
}

async function showComparison(database: Database, ids: { readonly sourceId: string; readonly targetId: string }) {
  const { source, target, obstacles } = await previewMerge(database, ids);
  return <Comparison source={source} target={target} obstacles={obstacles} />;
}

function Comparison({ source, target, obstacles }: MergePreview) {
  const { merges: messages } = useTexts();
  const mayMerge = useMay('moveMoney');
  return (
    <>
      <div class="grid">
        <Side title={messages.source} side={source} />
        <Side title={messages.target} side={target} />
      </div>
      {source.account.priceList === target.account.priceList ? null : <p class="soft">{messages.otherPrices}</p>}
      {obstacles.length === 0 ? null : (
        <Card title={messages.refused}>
          <ul>
            {obstacles.map((obstacle) => (
              <li>{messages.obstacles[obstacle]}</li>
            ))}
          </ul>
        </Card>
      )}
      {obstacles.length > 0 || !mayMerge ? null : (
        <ReasonCard
          title={messages.merge}
          hint={messages.mergeHint}
          action={`accounts/${source.account.id}/merge`}
          look="danger"
        >
          <input type="hidden" name="target_account_id" value={target.account.id} />
        </ReasonCard>
      )}
    </>
  );
}

function Side({ title, side: { account, facts, holds, promo, members } }: { title: string; side: MergeSidePreview }) {
  const { merges: messages, fields, titles, values, billing, priceLists, plans } = useTexts();
  const owners = members.map(({ email, role }) => `${email} (${values.role[role]})`);
  return (
    <Card title={title}>
      <Balance account={account} />
      <Facts
        facts={[
          [fields.name, <a href={`/console/staff/accounts/${account.id}`}>{account.name}</a>],
          [titles.members, owners.join(', ') || '–'],
          [messages.promo, <ExactMoney amount={promo} />],
          [
            messages.held,
            `${billing.heldByTasks(holds.runningTasks, usd(holds.heldByTasks))}, ${billing.heldByText(usd(holds.heldByText))}`,
          ],
          [messages.debt, <ExactMoney amount={facts.debt} />],
          [plans.title, facts.hasPlan ? messages.yes : messages.no],
          [messages.batches, facts.openBatches],
          [titles.keys, facts.keys],
          [titles.budgets, facts.budgets],
          [priceLists.pays, account.priceList ?? priceLists.catalogue],
          [fields.external_id, account.externalId ?? '–'],
        ]}
      />
    </Card>
  );
}

/** Merges with what this reader may decide. */
export function MergeTable({
  title,
  merges,
  next,
}: {
  title: string;
  merges: readonly AccountMerge[];
  next?: string | null;
}) {
  const { merges: messages, corrections, common } = useTexts();
  return (
    <TableCard
      title={title}
      of={ACCOUNT_MERGE}
      rows={merges}
      columns={[
        [messages.source, 'account_id'],
        'target_account_id',
        'reason',
        [corrections.asked, 'author'],
        [common.result, 'merge_status'],
        'decided_by',
        [
          corrections.decision,
          ({ id, sourceId, author, outcome }) =>
            outcome === null ? (
              <Decisions author={author} path={`/console/staff/accounts/${sourceId}/merge/${id}`} />
            ) : (
              '–'
            ),
        ],
      ]}
      notes={{ author: 'created_at', merge_status: 'completed_at', decided_by: 'decided_at' }}
      {...(next !== undefined && { next })}
    />
  );
}

/** The usage and the budgets of end users as tables, and the form of a budget. */
import { END_USER_BUDGET } from '../../../api/routes/admin/present.ts';
import { END_USER_USAGE } from '../../../api/routes/usage/present.ts';
import type { KeptBudget } from '../../../db/queries/end-user-budgets.ts';
import type { EndUserUsage } from '../../../db/queries/end-user-usage.ts';
import { renewalOf } from '../../../domain/api-key.ts';
import { Choice, Field, Form, FormButton, Money, Noted, Pages, Time, usd } from '../../html/components.tsx';
import { FieldFilter, Filters } from '../../html/filters.tsx';
import { useTexts } from '../../html/page-context.ts';
import { TableCard } from '../../html/resource-table.tsx';
import type { ListPage } from '../../list-page.ts';

/** The table shows the end users who were charged most. The export has more. */
const MAX_ROWS = 100;

/** The name may be long, and without a space. */
function Name({ endUser }: { readonly endUser: string }) {
  return <span class="narrow">{endUser}</span>;
}

export function UsageTable({ rows }: { readonly rows: readonly EndUserUsage[] }) {
  const { endUsers: words, fields } = useTexts();
  return (
    <TableCard
      title={words.usage}
      of={END_USER_USAGE}
      rows={rows.slice(0, MAX_ROWS)}
      none={words.noUsage}
      hasColumnMenu
      columns={[
        [fields.end_user, Name, null, 'end_user'],
        'charged_usd',
        'requests',
        'failed',
        'input_tokens',
        'output_tokens',
      ]}
    >
      {rows.length > MAX_ROWS ? <p class="soft">{words.more(MAX_ROWS)}</p> : null}
    </TableCard>
  );
}

export function BudgetTable({
  page: { entries, next },
  path,
  mayChange,
}: {
  readonly page: ListPage<KeptBudget>;
  readonly path: string;
  readonly mayChange: boolean;
}) {
  const { endUsers: words, keys, fields, common, values } = useTexts();
  return (
    <TableCard
      title={words.budgets}
      of={END_USER_BUDGET}
      rows={entries}
      none={words.noBudgets}
      columns={[
        [fields.end_user, Name],
        [
          keys.used,
          ({ usedOfLimit, usageLimit, limitPeriod }) => (
            <Noted note={keys.renewal(values.limit_period[limitPeriod])}>
              <Money amount={usedOfLimit} /> {keys.ofLimit(usd(usageLimit))}
            </Noted>
          ),
          'number',
        ],
        [words.renewsAt, ({ limitPeriod }) => <Time at={renewalOf(limitPeriod, new Date())} />],
        mayChange
          ? [
              common.delete,
              ({ id }) => (
                <FormButton
                  action={`${path}/${id}/delete`}
                  label={common.delete}
                  look="danger"
                  question={words.delete}
                />
              ),
            ]
          : null,
      ]}
    >
      <Filters hasViews={false} keeps={['from', 'to']}>
        <FieldFilter name="end_user" />
      </Filters>
      <Pages next={next} />
    </TableCard>
  );
}

export function BudgetForm({ action }: { readonly action: string }) {
  const { endUsers: words, common, values } = useTexts();
  return (
    <Form action={action}>
      <p class="soft">{words.explanation}</p>
      <div class="grid">
        <Field name="end_user" hint={words.asNamed} />
        <Field name="usage_limit_usd" inputMode="decimal" />
        <Choice name="limit_period" label={words.renews} options={Object.entries(values.limit_period)} />
      </div>
      <button type="submit">{common.save}</button>
    </Form>
  );
}

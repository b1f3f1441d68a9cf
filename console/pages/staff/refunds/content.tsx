import { LISTED_REFUND } from '../../../../api/routes/admin/present-finance.ts';
import type { Refund, RefundFilter, RefundSum } from '../../../../db/queries/statements.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Choice, Field, Pages } from '../../../html/components.tsx';
import { DayFilters, Downloads, Filters } from '../../../html/filters.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import type { UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';
import { useTexts } from '../../../html/page-context.ts';

interface Props {
  readonly refunds: readonly Refund[];
  readonly sums: readonly RefundSum[];
  readonly filter: RefundFilter;
  readonly next: string | null;
  readonly visit: UserVisit;
}

export function RefundContent(props: Props) {
  const { refunds, sums, next, visit } = props;
  const { texts } = visit;
  const { refunds: words, fields } = texts;
  return (
    <>
      <RefundFilters {...props} />
      <Sums sums={sums} />
      {refunds.length === 0 ? null : (
        <TableCard
          title={words.title}
          of={LISTED_REFUND}
          rows={refunds}
          hasColumnMenu
          columns={[
            [words.when, 'created_at'],
            'amount_usd',
            [
              fields.cause,
              ({ cause, message }) => (
                <>
                  {causeInWords(cause, texts)}
                  {message === null ? null : <p class="hint">{message}</p>}
                </>
              ),
              null,
              'cause',
            ],
            'model',
            [words.of, 'task_id'],
            'account_id',
          ]}
        >
          <Pages next={next} />
        </TableCard>
      )}
    </>
  );
}

function RefundFilters({ sums, filter, visit: { texts } }: Props) {
  const { refunds: words, staff, fields } = texts;
  const causes = [...new Set([filter.cause ?? null, ...sums.map(({ cause }) => cause)])].flatMap(
    (cause) => cause ?? [],
  );
  return (
    <Filters downloads={<Downloads />}>
      <DayFilters standing={filter} />
      <Choice
        name="cause"
        label={fields.cause}
        value={filter.cause ?? ''}
        options={[['', words.allCauses], ...causes.map((cause) => [cause, causeInWords(cause, texts)] as const)]}
      />
      <Field name="account_id" label={staff.accountId} value={filter.accountId ?? ''} />
    </Filters>
  );
}

const REFUND_SUM = nested<Omit<RefundSum, 'cause'>>({
  refunds: field.count('refunds'),
  amount_usd: field.usd('amount'),
});

function Sums({ sums }: { readonly sums: readonly RefundSum[] }) {
  const texts = useTexts();
  const { refunds: words, common, fields } = texts;
  const rows = sums.map((sum) => ({ ...sum, name: causeInWords(sum.cause, texts) }));
  return (
    <TableCard
      of={REFUND_SUM}
      title={words.byCause}
      rows={rows}
      none={words.none}
      total={{
        name: common.total,
        cause: null,
        refunds: sums.reduce((all, { refunds }) => all + refunds, 0),
        amount: sums.reduce((all, { amount }) => all + amount, 0n),
      }}
      columns={[[fields.cause, ({ name }) => name], 'refunds', 'amount_usd']}
    />
  );
}

/** Returns the words for an error code. A code without words is shown unchanged. */
function causeInWords(cause: string | null, { refunds: words }: Texts): string {
  return cause === null ? words.unknownCause : (new Map(Object.entries(words.causes)).get(cause) ?? cause);
}

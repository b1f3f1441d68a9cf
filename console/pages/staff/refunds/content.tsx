import type { Refund, RefundFilter, RefundSum } from '../../../../db/queries/statements.ts';
import { Card, Choice, Field, Pages } from '../../../html/components.tsx';
import { DataTable } from '../../../html/data-table.tsx';
import { Downloads, Filters } from '../../../html/filters.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import type { UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';

interface Props {
  readonly refunds: readonly Refund[];
  readonly sums: readonly RefundSum[];
  readonly filter: RefundFilter;
  readonly next: string | null;
  readonly visit: UserVisit;
}

export function RefundContent(props: Props) {
  const { refunds, sums, next, visit } = props;
  const { texts, path, query } = visit;
  const { refunds: words } = texts;
  return (
    <>
      <RefundFilters {...props} />
      <Card title={words.byCause}>
        <Sums sums={sums} texts={texts} />
      </Card>
      {refunds.length === 0 ? null : (
        <Card title={words.title}>
          <DataTable
            label={words.title}
            rows={refunds}
            columns={[
              [words.when, 'createdAt', 'name'],
              [words.amount, 'amount', 'money'],
              [
                words.cause,
                ({ cause, message }) => (
                  <>
                    {causeInWords(cause, texts)}
                    {message === null ? null : <p class="hint">{message}</p>}
                  </>
                ),
              ],
              [texts.common.model, 'model'],
              [words.of, ({ taskId }) => <AnyId id={taskId} />],
              [words.account, ({ accountId }) => <AnyId id={accountId} />],
            ]}
          />
          <Pages path={path} query={query} next={next} texts={texts} />
        </Card>
      )}
    </>
  );
}

function RefundFilters({ sums, filter, visit: { texts, query, path } }: Props) {
  const { refunds: words, staff } = texts;
  const causes = [...new Set([filter.cause ?? null, ...sums.map(({ cause }) => cause)])].flatMap(
    (cause) => cause ?? [],
  );
  return (
    <Filters texts={texts} downloads={<Downloads path={path} query={query} texts={texts} />}>
      <Field name="from" label={staff.from} type="date" value={filter.from?.toISOString().slice(0, 10) ?? ''} />
      <Field name="to" label={staff.to} type="date" value={query.get('to') ?? ''} />
      <Choice
        name="cause"
        label={words.cause}
        value={filter.cause ?? ''}
        options={[['', words.allCauses], ...causes.map((cause) => [cause, causeInWords(cause, texts)] as const)]}
      />
      <Field name="account_id" label={staff.accountId} value={filter.accountId ?? ''} />
    </Filters>
  );
}

function Sums({ sums, texts }: { readonly sums: readonly RefundSum[]; readonly texts: Texts }) {
  const { refunds: words, common, language } = texts;
  const rows = sums.map((sum) => ({ ...sum, name: causeInWords(sum.cause, texts) }));
  return (
    <DataTable
      label={words.byCause}
      rows={rows}
      none={words.none}
      total={{
        name: common.total,
        cause: null,
        refunds: sums.reduce((all, { refunds }) => all + refunds, 0),
        amount: sums.reduce((all, { amount }) => all + amount, 0n),
      }}
      columns={[
        [words.cause, 'name', 'name'],
        [words.title, ({ refunds }) => refunds.toLocaleString(language), 'number'],
        [words.amount, 'amount', 'money'],
      ]}
    />
  );
}

/** A code of the API, in words where there are some. */
function causeInWords(cause: string | null, { refunds: words }: Texts): string {
  return cause === null ? words.unknownCause : (new Map(Object.entries(words.causes)).get(cause) ?? cause);
}

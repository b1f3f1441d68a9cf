import type { Refund, RefundFilter, RefundSum } from '../../../../db/queries/statements.ts';
import { EXPORT_FORMATS } from '../../../export.ts';
import { Card, Choice, Empty, ExactMoney, Field, Pages, Table, Time } from '../../../html/components.tsx';
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
      <Filters {...props} />
      <Card title={words.byCause}>
        {sums.length === 0 ? <Empty>{words.none}</Empty> : <Sums sums={sums} texts={texts} />}
      </Card>
      {refunds.length === 0 ? null : (
        <Card title={words.title}>
          <Table
            label={words.title}
            columns={[words.when, { number: words.amount }, words.cause, texts.common.model, words.of, words.account]}
          >
            {refunds.map((refund) => (
              <RefundRow refund={refund} texts={texts} />
            ))}
          </Table>
          <Pages path={path} query={query} next={next} texts={texts} />
        </Card>
      )}
    </>
  );
}

function Filters({ sums, filter, visit: { texts, query, path } }: Props) {
  const { refunds: words, staff, common } = texts;
  const causes = [...new Set([filter.cause ?? null, ...sums.map(({ cause }) => cause)])].flatMap(
    (cause) => cause ?? [],
  );
  return (
    <form method="get" class="filters" role="search">
      <Field name="from" label={staff.from} type="date" value={filter.from?.toISOString().slice(0, 10) ?? ''} />
      <Field name="to" label={staff.to} type="date" value={query.get('to') ?? ''} />
      <Choice
        name="cause"
        label={words.cause}
        value={filter.cause ?? ''}
        options={[['', words.allCauses], ...causes.map((cause) => [cause, causeInWords(cause, texts)] as const)]}
      />
      <Field name="account_id" label={staff.accountId} value={filter.accountId ?? ''} />
      <button type="submit" class="quiet">
        {common.filter}
      </button>
      {EXPORT_FORMATS.map((format) => (
        <a class="button quiet" href={`${path}/export?${withFormat(query, format)}`} download>
          {common.download[format]}
        </a>
      ))}
    </form>
  );
}

function withFormat(query: URLSearchParams, format: string): string {
  const changed = new URLSearchParams(query);
  changed.delete('cursor');
  changed.set('format', format);
  return changed.toString();
}

function Sums({ sums, texts }: { readonly sums: readonly RefundSum[]; readonly texts: Texts }) {
  const { refunds: words, common } = texts;
  const total: RefundSum = {
    cause: null,
    refunds: sums.reduce((all, { refunds }) => all + refunds, 0),
    amount: sums.reduce((all, { amount }) => all + amount, 0n),
  };
  return (
    <Table
      label={words.byCause}
      columns={[words.cause, { number: words.title }, { number: words.amount }]}
      total={<SumRow name={common.total} sum={total} language={texts.language} />}
    >
      {sums.map((sum) => (
        <SumRow name={causeInWords(sum.cause, texts)} sum={sum} language={texts.language} />
      ))}
    </Table>
  );
}

function SumRow({
  name,
  sum,
  language,
}: {
  readonly name: string;
  readonly sum: RefundSum;
  readonly language: string;
}) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="right number">{sum.refunds.toLocaleString(language)}</td>
      <td class="right">
        <ExactMoney amount={sum.amount} />
      </td>
    </tr>
  );
}

function RefundRow({ refund, texts }: { readonly refund: Refund; readonly texts: Texts }) {
  return (
    <tr>
      <th scope="row">
        <Time at={refund.createdAt} />
      </th>
      <td class="right">
        <ExactMoney amount={refund.amount} />
      </td>
      <td>
        {causeInWords(refund.cause, texts)}
        {refund.message === null ? null : <p class="hint">{refund.message}</p>}
      </td>
      <td>{refund.model ?? '–'}</td>
      <td>
        <AnyId id={refund.taskId ?? refund.textRequestId ?? refund.id} />
      </td>
      <td>
        <AnyId id={refund.accountId} />
      </td>
    </tr>
  );
}

/** A code of the API, in words where there are some. */
function causeInWords(cause: string | null, { refunds: words }: Texts): string {
  return cause === null ? words.unknownCause : (new Map(Object.entries(words.causes)).get(cause) ?? cause);
}

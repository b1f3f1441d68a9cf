/** What customers had, moved and have left in a month. */
import { linesOf } from '../../../../api/routes/admin/present-finance.ts';
import type { Account } from '../../../../db/queries/accounts.ts';
import type { Statement } from '../../../../db/queries/statements.ts';
import type { Month } from '../../../../domain/month.ts';
import { EXPORT_FORMATS } from '../../../export.ts';
import { Card, Empty, ExactMoney, Field, Pages, Table } from '../../../html/components.tsx';
import type { UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';

export function CustomerList({
  month,
  accounts,
  next,
  visit: { texts, query, path },
}: {
  readonly month: Month;
  readonly accounts: readonly Account[];
  readonly next: string | null;
  readonly visit: UserVisit;
}) {
  const { months: words, staff } = texts;
  return (
    <>
      <form method="get" class="filters" role="search">
        <Field name="search" label={words.searchCustomer} type="search" value={query.get('search') ?? ''} />
        <button type="submit" class="quiet">
          {texts.common.filter}
        </button>
      </form>
      <Card>
        {accounts.length === 0 ? (
          <Empty>{words.noCustomers}</Empty>
        ) : (
          <Table label={words.statements} columns={[words.customer, staff.account]}>
            {accounts.map(({ id, name }) => (
              <tr>
                <th scope="row">
                  <a href={`/console/staff/months/${month.name}/statements/${id}`}>{name}</a>
                </th>
                <td>
                  <code>{id}</code>
                </td>
              </tr>
            ))}
          </Table>
        )}
        <Pages path={path} query={query} next={next} texts={texts} />
      </Card>
    </>
  );
}

export function StatementContent({
  month,
  account,
  statement,
  visit: { path, texts },
}: {
  readonly month: Month;
  readonly account: Account;
  readonly statement: Statement;
  readonly visit: UserVisit;
}) {
  const { months: words, common, staff } = texts;
  return (
    <>
      <div class="row actions">
        {EXPORT_FORMATS.map((format) => (
          <a class="button quiet" href={`${path}/export?format=${format}`} download>
            {common.download[format]}
          </a>
        ))}
        <a class="button quiet" href={`/console/staff/accounts/${account.id}`}>
          {staff.account}
        </a>
        <a class="button quiet" href={`/console/staff/months/${month.name}`}>
          {words.backToMonth}
        </a>
      </div>
      <Card>
        <Table
          label={words.statements}
          columns={[
            words.line,
            { number: words.transfers },
            { number: words.available },
            { number: words.reserved },
            { number: common.total },
          ]}
        >
          {linesOf(statement).map(({ line, transfers, available, reserved }) => (
            <tr>
              <th scope="row">{nameOfLine(line, words)}</th>
              <td class="right number">{transfers?.toLocaleString(texts.language) ?? ''}</td>
              <td class="right">
                <ExactMoney amount={available} />
              </td>
              <td class="right">
                <ExactMoney amount={reserved} />
              </td>
              <td class="right">
                <ExactMoney amount={available + reserved} />
              </td>
            </tr>
          ))}
        </Table>
      </Card>
    </>
  );
}

/** The line in words; a kind of transfer that has none is shown by its name. */
export function nameOfLine(line: string, words: Texts['months']): string {
  return new Map(Object.entries(words.lines)).get(line) ?? line;
}

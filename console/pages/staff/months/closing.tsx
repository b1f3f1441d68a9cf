/** What closing a month freezes, before somebody does it. */
import { revenueOfBooks } from '../../../../api/services/finance/month-rows.ts';
import type { Books } from '../../../../db/queries/closed-months.ts';
import type { Month } from '../../../../domain/month.ts';
import { Card, Empty, ExactMoney, Form, Problem, Table } from '../../../html/components.tsx';
import type { UserVisit } from '../../../page.ts';
import { nameOfLine } from './statements.tsx';

export function ClosingContent({
  month,
  books,
  refusal,
  visit: { texts, session },
}: {
  readonly month: Month;
  readonly books: Books;
  /** Why it cannot be closed now. */
  readonly refusal: string | null;
  readonly visit: UserVisit;
}) {
  const { months: words, common, reconciliation } = texts;
  const path = `/console/staff/months/${month.name}`;
  return (
    <>
      <Problem message={refusal} />
      <Card title={words.freezes}>
        <ul>
          {words.frozen.map((sentence) => (
            <li>{sentence}</li>
          ))}
        </ul>
        <div class="row actions">
          {refusal === null ? (
            <Form token={session.formToken} action={`${path}/close`}>
              <button type="submit" class="danger">
                {words.close}
              </button>
            </Form>
          ) : (
            <a class="button quiet" href="/console/staff/reconciliations">
              {reconciliation.title}
            </a>
          )}
          <a class="button quiet" href={path}>
            {common.cancel}
          </a>
        </div>
      </Card>
      <Card title={words.books}>
        {books.transfers === 0 ? (
          <Empty>{words.nothingBooked}</Empty>
        ) : (
          <Table label={words.books} columns={[words.line, { number: words.amount }]}>
            {[...books.amounts].map(([kind, amount]) => (
              <tr>
                <th scope="row">{nameOfLine(kind, words)}</th>
                <td class="right">
                  <ExactMoney amount={amount} />
                </td>
              </tr>
            ))}
          </Table>
        )}
        <p class="hint">{words.booksAre(books.transfers.toLocaleString(texts.language))}</p>
        <p>
          {words.revenue}: <ExactMoney amount={revenueOfBooks(books)} />
        </p>
      </Card>
    </>
  );
}

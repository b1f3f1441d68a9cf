/** Asks before a month is closed, and shows what closing freezes. */
import { revenueOfBooks } from '../../../../api/services/finance/month-rows.ts';
import type { AcknowledgedFinding, Books } from '../../../../db/queries/closed-months.ts';
import type { ServiceError } from '../../../../domain/errors.ts';
import type { Month } from '../../../../domain/month.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Card, ExactMoney, FormButton, Problem } from '../../../html/components.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { AcknowledgedFindings } from './acknowledged.tsx';
import { useTexts } from '../../../html/page-context.ts';

type Booked = Books['amounts'] extends Iterable<infer Entry> ? Entry : never;

const BOOKED = nested<Booked>({ amount_usd: field.usd(([, amount]: Booked) => amount) });

export function ClosingContent({
  month,
  books,
  refusal,
  acknowledged,
}: {
  readonly month: Month;
  readonly books: Books;
  /** Why the month cannot be closed now. */
  readonly refusal: ServiceError | null;
  readonly acknowledged: readonly AcknowledgedFinding[];
}) {
  const texts = useTexts();
  const { months: words, common, titles } = texts;
  const path = `/console/staff/months/${month.name}`;
  const names: Readonly<Record<string, string>> = words.lines;
  return (
    <>
      <Problem of={refusal} />
      <Card title={words.freezes}>
        <ul>
          {words.frozen.map((sentence) => (
            <li>{sentence}</li>
          ))}
        </ul>
        <div class="row actions">
          {refusal === null ? (
            <FormButton action={`${path}/close`} label={words.close} look="danger" />
          ) : (
            <a class="button quiet" href="/console/staff/reconciliations">
              {titles.reconciliation}
            </a>
          )}
          <a class="button quiet" href={path}>
            {common.cancel}
          </a>
        </div>
      </Card>
      <AcknowledgedFindings findings={acknowledged} />
      <TableCard
        title={words.books}
        of={BOOKED}
        rows={[...books.amounts]}
        none={words.nothingBooked}
        columns={[[common.what, ([kind]) => names[kind] ?? kind], 'amount_usd']}
      >
        <p class="hint">{words.booksAre(books.transfers.toLocaleString(texts.language))}</p>
        <p>
          {texts.fields.revenue_usd}: <ExactMoney amount={revenueOfBooks(books)} />
        </p>
      </TableCard>
    </>
  );
}

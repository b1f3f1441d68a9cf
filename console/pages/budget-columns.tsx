/** The columns of every table of budgets, after the one that says what a budget limits. */
import { renewalOf } from '../../domain/api-key.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { FormButton, Money, Time, usd, WithNote } from '../html/components.tsx';
import { useTexts } from '../html/page-context.ts';
import type { Columns } from '../html/columns.tsx';

interface BudgetFacts {
  readonly id: string;
  readonly usedOfLimit: PicoUsd;
  readonly usageLimit: PicoUsd;
  readonly limitPeriod: Parameters<typeof renewalOf>[0];
}

interface BudgetColumns<Budget> {
  readonly entries: readonly Budget[];
  /** The page, below which each budget has its form. */
  readonly path: string;
  readonly mayChange: (budget: Budget) => boolean;
  readonly messages: { readonly renewsAt: string; readonly delete: string };
}

export function useBudgetColumns<Budget extends BudgetFacts>({
  entries,
  path,
  mayChange,
  messages,
}: BudgetColumns<Budget>): Columns<Budget> {
  const { keys, common, values } = useTexts();
  return [
    [
      keys.used,
      ({ usedOfLimit, usageLimit, limitPeriod }) => (
        <WithNote note={keys.renewal(values.limit_period[limitPeriod])}>
          <Money amount={usedOfLimit} /> {keys.ofLimit(usd(usageLimit))}
        </WithNote>
      ),
      'number',
    ],
    [messages.renewsAt, ({ limitPeriod }) => <Time at={renewalOf(limitPeriod, new Date())} />],
    entries.some(mayChange)
      ? [
          common.delete,
          (budget) =>
            mayChange(budget) ? (
              <FormButton
                action={`${path}/${budget.id}/delete`}
                label={common.delete}
                look="danger"
                question={messages.delete}
              />
            ) : null,
        ]
      : null,
  ];
}

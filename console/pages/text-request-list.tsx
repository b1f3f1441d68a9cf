/** A list of text requests, for the members of their account and for operators. */
import type { Child } from 'hono/jsx';
import { TEXT_OUTCOMES, type TextUsage, type TextUsageFilter } from '../../db/queries/usage.ts';
import { Pages } from '../html/components.tsx';
import { batchIn, Candidates, ChoiceLinks, DayFilters, FieldFilter, Filters } from '../html/filters.tsx';
import { useTexts } from '../html/page-context.ts';
import { type TableProps, TableCard } from '../html/resource-table.tsx';
import type { ListPage } from '../list-page.ts';
import type { PartFilter } from '../part-filter.ts';
import { periodOf } from '../period.ts';

/** Reads the common filters of lists of text requests. An invalid filter has no effect. */
export function requestFilterOf(query: URLSearchParams, model: PartFilter): TextUsageFilter {
  return {
    // While several models match, the filter is an empty name, which no model has.
    model: model.value === null ? '' : model.value,
    batchId: batchIn(query),
    outcome: TEXT_OUTCOMES.find((known) => known === query.get('status')),
    ...periodOf(query),
  };
}

interface RequestListProps extends Pick<TableProps<TextUsage>, 'of' | 'columns' | 'notes'> {
  readonly page: ListPage<TextUsage>;
  readonly filters: readonly PartFilter[];
  readonly downloads?: Child;
  readonly children: Child;
}

/** @param children further filters of the list */
export function RequestList({ page: { entries, next }, filters, downloads, children, ...table }: RequestListProps) {
  const { staffTextRequests: messages, common, titles } = useTexts();
  return (
    <>
      <Filters downloads={downloads}>
        <ChoiceLinks name="status" all={common.allStatuses} values={TEXT_OUTCOMES} field="outcome" />
        {children}
        <FieldFilter name="model" label={common.partOfModel} />
        <FieldFilter name="batch_id" />
        <DayFilters />
      </Filters>
      <Candidates filters={filters} />
      <TableCard label={titles.textRequests} rows={entries} none={messages.none} hasColumnMenu {...table} />
      <Pages next={next} />
    </>
  );
}

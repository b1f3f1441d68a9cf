/** Filters of lists, and links that download a list. */
import type { Child } from 'hono/jsx';
import type { Period } from '../../db/period.ts';
import type { AttemptFilter } from '../../db/attempt-filter.ts';
import type { ApiKey } from '../../db/queries/api-keys.ts';
import { dayOf } from '../../domain/day.ts';
import { isId } from '../../domain/ids.ts';
import { COLUMNS, EXPORT_FORMATS } from '../export.ts';
import { fieldLabel } from '../form-problem.ts';
import type { PartFilter } from '../part-filter.ts';
import { periodOf, USUAL_PERIODS, usualPeriods } from '../period.ts';
import { Card, Choice, Field, type FieldProps, type Labelled } from './components.tsx';
import { usePage, useQuery, useTexts } from './page-context.ts';
import { SavedViews } from './saved-views.tsx';
import { wordFor } from '../texts/texts.ts';

interface FiltersProps {
  readonly downloads?: Child;
  readonly hasViews?: boolean;
  readonly keeps?: readonly string[];
  readonly children: Child;
}

/**
 * @param hasViews whether the reader can save the filters under a name; false for filters that name people
 * @param keeps the names of filters in other forms of the page, which keep their values
 */
export function Filters({ downloads, hasViews = true, keeps = [], children }: FiltersProps) {
  const { texts, query } = usePage();
  return (
    <>
      {hasViews ? <SavedViews /> : null}
      <form method="get" class="filters" role="search">
        {[COLUMNS, ...keeps].map((name) =>
          query.getAll(name).map((value) => <input type="hidden" name={name} value={value} />),
        )}
        {children}
        <button type="submit" class="quiet">
          {texts.common.filter}
        </button>
        {downloads}
      </form>
    </>
  );
}

type ChoiceFilterProps = Labelled & {
  /** The label of "all values". */
  readonly all: string;
  readonly values: readonly string[];
  readonly field?: string;
};

/** Filters a list by one value of a field. */
export function ChoiceFilter({ all, values, field, ...labelled }: ChoiceFilterProps) {
  const { texts, query } = usePage();
  const { name } = labelled;
  const options = values.map((value) => [value, wordFor(field ?? name, value, texts)] as const);
  return <Choice {...labelled} value={query.get(name)} options={[['', all], ...options]} />;
}

/** Filters a list by one value of a field, with one click. The links keep the other filters, and the form keeps the value. */
export function ChoiceLinks({ name, label, all, values, field = name }: ChoiceFilterProps) {
  const { texts, query } = usePage();
  const queryWith = useQuery();
  const chosen = values.find((value) => value === query.get(name)) ?? '';
  return (
    <div class="choices" role="group" aria-label={label ?? fieldLabel(name, texts)}>
      {['', ...values].map((value) => (
        <a href={queryWith({ [name]: value || null })} {...(value === chosen && { 'aria-current': 'true' })}>
          {value === '' ? all : wordFor(field, value, texts)}
        </a>
      ))}
      {chosen === '' ? null : <input type="hidden" name={name} value={chosen} />}
    </div>
  );
}

/** Filters a list by a text, or a value of the field's `type`. */
export function FieldFilter(props: FieldProps) {
  const { query } = usePage();
  return <Field {...props} value={query.get(props.name)} />;
}

/** Filters tasks or text requests by what upstreams did with them. */
export function AttemptFilters({ faults }: { faults: readonly string[] }) {
  const { common } = useTexts();
  return (
    <>
      <FieldFilter name="upstream" />
      <ChoiceFilter name="fault" all={common.allFaults} values={faults} field="cause" />
    </>
  );
}

/** The filter that {@link AttemptFilters} chose. */
export function attemptsIn(query: URLSearchParams): AttemptFilter {
  return { upstream: textIn(query, 'upstream'), fault: textIn(query, 'fault') };
}

/** The batch of the filter `batch_id`; undefined if there is none, or for any other value. */
export function batchIn(query: URLSearchParams): string | undefined {
  const id = textIn(query, 'batch_id');
  return id !== undefined && isId('batch', id) ? id : undefined;
}

/** A parameter as typed; undefined if it is empty. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  return query.get(name)?.trim() || undefined;
}

/** The maximum number of keys in {@link KeyFilter}. */
export const MAX_KEYS = 100;

/** Filters a list by a key of the account. */
export function KeyFilter({ keys }: { keys: readonly ApiKey[] }) {
  const { texts, query } = usePage();
  if (keys.length === 0) return null;
  const options = keys.map(({ id, name, hint }) => [id, name === '' ? hint : `${name} (${hint})`] as const);
  const all = texts.billing.allKeys;
  return <Choice name="key" value={query.get('key')} options={[['', all], ...options]} />;
}

/** The id of the key that {@link KeyFilter} chose. */
export function keyIn(query: URLSearchParams): string | undefined {
  const id = query.get('key') ?? '';
  return isId('apiKey', id) ? id : undefined;
}

/** Filters a list by days in UTC, or by a usual period with one click. @param standing the period without a choice */
export function DayFilters({ standing }: { standing?: Period }) {
  const { query, texts } = usePage();
  const queryWith = useQuery();
  const periods = usualPeriods(Date.now());
  const asked = periodOf(query);
  const [start, end] = [asked.from ?? standing?.from, asked.to ?? standing?.to];
  const firstDay = start ? dayOf(start) : '';
  const lastDay = end ? dayOf(new Date(end.getTime() - 1)) : '';
  return (
    <>
      <div class="choices" role="group" aria-label={texts.periods.title}>
        {USUAL_PERIODS.map((name) => {
          const [from, to] = periods[name];
          const isChosen = from === firstDay && to === lastDay;
          return (
            <a
              href={queryWith(isChosen ? { from: null, to: null } : { from, to })}
              {...(isChosen && { 'aria-current': 'true' })}
            >
              {texts.periods[name]}
            </a>
          );
        })}
      </div>
      <Field name="from" label={texts.periods.from} type="date" value={firstDay} />
      <Field name="to" label={texts.periods.to} type="date" value={lastDay} />
    </>
  );
}

/** Lets the reader choose if several values match a filter. */
export function Candidates({ filters }: { filters: readonly PartFilter[] }) {
  const { common } = useTexts();
  const queryWith = useQuery();
  const open = filters.filter(({ candidates }) => candidates.length > 0);
  return (
    <>
      {open.map(({ name, candidates }) => (
        <Card title={common.several}>
          <div class="choices">
            {candidates.map(({ value, label }) => (
              <a href={queryWith({ [name]: value })}>{label}</a>
            ))}
          </div>
        </Card>
      ))}
    </>
  );
}

/** Links to a file of each format, at `/export` below the list, with the filters of the page. */
export function Downloads() {
  const { texts, path, query } = usePage();
  const hrefOf = (format: string): string => {
    const asked = new URLSearchParams(query);
    asked.delete('cursor');
    asked.set('format', format);
    return `${path}/export?${asked.toString()}`;
  };
  return (
    <>
      {EXPORT_FORMATS.map((format) => (
        <a class="button quiet" href={hrefOf(format)} download>
          {texts.common.download[format]}
        </a>
      ))}
    </>
  );
}

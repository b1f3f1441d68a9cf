/** What pages are built of. Text is escaped by construction: only elements are elements. */
import type { Child } from 'hono/jsx';
import { formatUsd, type PicoUsd } from '../../domain/money.ts';
import { FormId } from './form-id.tsx';
import { usePage, useTexts } from './page-context.ts';

/** An amount of money for reading: at least to the cent, and at most to the millionth of a dollar. */
export function usd(amount: PicoUsd): string {
  const [whole = '', fraction = ''] = exactUsd(amount).split('.');
  return `${whole}.${fraction.slice(0, 6).replace(/0+$/, '').padEnd(2, '0')}`;
}

/** An amount of money to its last digit. */
export function exactUsd(amount: PicoUsd): string {
  const [whole = '0', fraction = ''] = formatUsd(amount).split('.');
  const sign = whole.startsWith('-') ? '-' : '';
  const grouped = whole.replace('-', '').replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return `${sign}$${grouped}.${fraction.padEnd(2, '0')}`;
}

export function Money({ amount }: { readonly amount: PicoUsd }) {
  return (
    <span class="money" title={`${formatUsd(amount)} USD`}>
      {usd(amount)}
    </span>
  );
}

/** For tables whose rows add up to their total. */
export function ExactMoney({ amount }: { readonly amount: PicoUsd }) {
  return <span class="money">{exactUsd(amount)}</span>;
}

/** A moment, in UTC; without script it reads as it is, and the browser's own time is shown as a hint where there is one. */
export function Time({ at }: { readonly at: Date }) {
  const iso = at.toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {`${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`}
    </time>
  );
}

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: Child }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}
export type Tone = 'good' | 'bad' | 'busy' | 'calm';

export function Card({
  title,
  children,
  wide,
}: {
  readonly title?: string;
  readonly wide?: boolean;
  readonly children: Child;
}) {
  return (
    <section class={wide ? 'card card-wide' : 'card'}>
      {title === undefined ? null : <h2>{title}</h2>}
      {children}
    </section>
  );
}

export function Empty({ children }: { readonly children: Child }) {
  return <p class="empty">{children}</p>;
}

/** Something with a note below it, where there is one. */
export function Noted({ note, children }: { readonly note: Child; readonly children: Child }) {
  return (
    <>
      {children}
      {note === null || note === undefined ? null : <div class="soft">{note}</div>}
    </>
  );
}

/** What went wrong with a form, read out as soon as it appears. */
export function Problem({ message }: { readonly message: string | null }) {
  return message === null ? null : (
    <p class="problem" role="alert">
      {message}
    </p>
  );
}

interface FieldProps {
  readonly name: string;
  /** Where two forms of a page have fields of the same name. */
  readonly id?: string;
  readonly label: string;
  readonly hint?: string;
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'date' | 'datetime-local' | 'url' | 'search';
  readonly value?: string;
  readonly required?: boolean;
  readonly autocomplete?: string;
  readonly inputMode?: 'numeric' | 'decimal' | 'text';
  readonly lines?: number;
}

/** A labelled input, with its hint tied to it for screen readers. */
export function Field({
  name,
  id = `field-${name}`,
  label,
  hint,
  type = 'text',
  value,
  required,
  autocomplete,
  inputMode,
  lines,
}: FieldProps) {
  const common = {
    id,
    name,
    required: required === true,
    ...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }),
    ...(autocomplete === undefined ? {} : { autocomplete }),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {lines === undefined ? (
        <input {...common} type={type} value={value ?? ''} {...(inputMode === undefined ? {} : { inputMode })} />
      ) : (
        <textarea {...common} rows={lines}>
          {value ?? ''}
        </textarea>
      )}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  readonly name: string;
  /** Where two forms of a page have fields of the same name. */
  readonly id?: string;
  readonly label: string;
  readonly value?: string;
  readonly options: readonly (readonly [value: string, label: string])[];
}

export function Choice({ name, id = `field-${name}`, label, value, options }: ChoiceProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name}>
        {options.map(([option, words]) => (
          <option value={option} selected={option === value}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A form that changes something: it carries the token of the session, and an id by which it is acted on once. */
export function Form({
  action,
  children,
  ...rest
}: {
  readonly action: string;
  readonly class?: string;
  readonly id?: string;
  readonly [data: `data-${string}`]: string;
  readonly children: Child;
}) {
  const { formToken } = usePage();
  return (
    <form method="post" action={action} {...rest}>
      {formToken === null ? null : <input type="hidden" name="form_token" value={formToken} />}
      <FormId />
      {children}
    </form>
  );
}

/** A button that changes something by itself. */
export function FormButton({
  action,
  label,
  look = 'quiet',
}: {
  readonly action: string;
  readonly label: string;
  readonly look?: 'quiet' | 'danger' | '';
}) {
  return (
    <Form action={action}>
      <button type="submit" class={look}>
        {label}
      </button>
    </Form>
  );
}

/** Deletes what a page has named, after it asked: by `path` + `/delete`. */
export function ConfirmDeletion({ path, backTo }: { readonly path: string; readonly backTo: string }) {
  const { common } = useTexts();
  return (
    <div class="row">
      <Form action={`${path}/delete`}>
        <button type="submit" class="danger">
          {common.delete}
        </button>
      </Form>
      <a class="button quiet" href={backTo}>
        {common.cancel}
      </a>
    </div>
  );
}

/** Leads to older entries and back to the newest. */
export function Pages({
  path,
  query,
  next,
}: {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly next: string | null;
}) {
  const texts = useTexts();
  const withCursor = (cursor: string | null): string => {
    const changed = new URLSearchParams(query);
    changed.delete('cursor');
    if (cursor !== null) changed.set('cursor', cursor);
    return changed.size === 0 ? path : `${path}?${changed.toString()}`;
  };
  return (
    <nav class="pages" aria-label={texts.common.older}>
      {query.has('cursor') ? <a href={withCursor(null)}>{texts.common.newest}</a> : null}
      {next === null ? null : <a href={withCursor(next)}>{texts.common.older}</a>}
    </nav>
  );
}

/** Text that people copy, such as a key; `lines` keeps those of code. */
export function Copyable({
  text,
  label,
  lines,
}: {
  readonly text: string;
  readonly label: string;
  readonly lines?: boolean;
}) {
  const texts = useTexts();
  return (
    <div class={lines ? 'copyable copyable-lines' : 'copyable'}>
      <code aria-label={label}>{text}</code>
      <button type="button" class="quiet" data-copy={text} data-copied={texts.common.copied}>
        {texts.common.copy}
      </button>
    </div>
  );
}

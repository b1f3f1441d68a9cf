/** The components of pages. hono/jsx escapes all text. */
import { type Child, createContext, useContext } from 'hono/jsx';
import type { ServiceError } from '../../domain/errors.ts';
import { formatUsd, type PicoUsd } from '../../domain/money.ts';
import type { Form as SentForm } from '../form.ts';
import { type FieldProblem, fieldLabel, type FieldName, fieldProblemOf, problemWords } from '../form-problem.ts';
import { FormId } from './form-id.tsx';
import { usePage, useQuery, useTexts } from './page-context.ts';

/** Formats an amount with two to six decimal places. */
export function usd(amount: PicoUsd): string {
  const [whole = '', fraction = ''] = exactUsd(amount).split('.');
  return `${whole}.${fraction.slice(0, 6).replace(/0+$/, '').padEnd(2, '0')}`;
}

/** Formats an amount with all its digits. */
export function exactUsd(amount: PicoUsd): string {
  const [whole = '0', fraction = ''] = formatUsd(amount).split('.');
  const sign = whole.startsWith('-') ? '-' : '';
  const grouped = whole.replace('-', '').replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return `${sign}$${grouped}.${fraction.padEnd(2, '0')}`;
}

export function Money({ amount }: { amount: PicoUsd }) {
  return (
    <span class="money" title={`${formatUsd(amount)} USD`}>
      {usd(amount)}
    </span>
  );
}

/** A headline of two decimal places. A click copies all digits, which are the hint as well. */
export function Headline({ amount }: { amount: PicoUsd }) {
  const { common } = useTexts();
  return (
    <p class="big">
      <button
        type="button"
        class="money digits"
        title={common.copyDigits(`${formatUsd(amount)} USD`)}
        data-copy={formatUsd(amount)}
        data-copied={common.copied}
      >
        {roundedUsd(amount)}
      </button>
    </p>
  );
}

const CENT: PicoUsd = 10n ** 10n;

/** Formats an amount with two decimal places, never as more than it is; less than a cent is no zero. */
export function roundedUsd(amount: PicoUsd): string {
  if (amount > 0n && amount < CENT) return '<$0.01';
  if (amount < 0n && amount > -CENT) return '>-$0.01';
  return exactUsd(amount - (amount % CENT));
}

/** An amount in cents, for a list that adds nothing up. All digits are the hint. */
export function RoundedMoney({ amount }: { amount: PicoUsd }) {
  return (
    <span class="money" title={`${formatUsd(amount)} USD`}>
      {roundedUsd(amount)}
    </span>
  );
}

/** An exact amount: the rows of a table add up to the total. @param isSigned whether a plus is shown as well */
export function ExactMoney({ amount, isSigned = false }: { amount: PicoUsd; isSigned?: boolean }) {
  return (
    <span class="money">
      {isSigned && amount > 0n ? '+' : ''}
      {exactUsd(amount)}
    </span>
  );
}

/** A moment in UTC. The exact moment is the hint. */
export function Time({ at }: { at: Date }) {
  const iso = at.toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {`${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`}
    </time>
  );
}

export function Badge({ tone, children }: { tone: Tone; children: Child }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}
export type Tone = 'good' | 'bad' | 'busy' | 'calm';

export function Card({ title, children, wide }: { title?: string; wide?: boolean; children: Child }) {
  return (
    <section class={wide ? 'card card-wide' : 'card'}>
      {title === undefined ? null : <h2>{title}</h2>}
      {children}
    </section>
  );
}

/** @param facts null for a fact to leave out */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: Child, fact: Child] | null)[] }) {
  return (
    <dl>
      {facts.map((fact) =>
        fact === null ? null : (
          <>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </>
        ),
      )}
    </dl>
  );
}

export function Empty({ children }: { children: Child }) {
  return <p class="empty">{children}</p>;
}

/** Content with a note below. Without a note, the content only. */
export function Noted({ note, children }: { note: Child; children: Child }) {
  return (
    <>
      {children}
      {note === null || note === undefined ? null : <div class="soft">{note}</div>}
    </>
  );
}

/** Why a form was not carried out. Screen readers announce the text. @param of in the reader's language, if it is a text */
export function Problem({ of }: { of: ServiceError | string | null }) {
  return of === null ? null : (
    <p class="problem" role="alert">
      {typeof of === 'string' ? of : <ProblemText of={of} />}
    </p>
  );
}

export function ProblemText({ of }: { of: ServiceError }) {
  const { words, english } = problemWords(of, useTexts());
  return (
    <>
      {words}
      {english === null ? null : <span lang="en">{english}</span>}
    </>
  );
}

/** A form that the page answers with a refusal. */
interface Refusal {
  /** Null if no single field is wrong. */
  readonly problem: FieldProblem | null;
  readonly sent: SentForm;
}

/** The refusal of the form around a component; null if the form was not refused. */
const RefusedForm = createContext<Refusal | null>(null);

/** Returns the refusal of the form that is sent to this address; null if the page does not answer the form, or accepted it. */
export function useRefusal(action: string): Refusal | null {
  const { context, problem, form, texts } = usePage();
  return problem !== null && action === context.path ? { problem: fieldProblemOf(problem, texts), sent: form } : null;
}

/** The fault of a field of the form around a component, in the reader's language; null for none. @param wireName as the API calls it */
function useFault(wireName: string): string | null {
  const { problem = null } = useContext(RefusedForm) ?? {};
  return problem?.field === wireName ? problem.words : null;
}

/** The initial value of a field: in a refused form, the sent value. */
function useEntry(name: string, value: string | number | null | undefined): string {
  return useContext(RefusedForm)?.sent.text(name) ?? String(value ?? '');
}

/** The label of a field is that of the API's field with its name, unless another is given. */
export type Labelled =
  | { readonly name: FieldName; readonly label?: string }
  | { readonly name: string; readonly label: string };

type InputProps = Labelled & {
  /** The API's name of the field, if it is another. */
  readonly wireName?: string;
  /** Needed if two forms of a page have fields with the same name. */
  readonly id?: string;
  readonly hint?: string;
  readonly value?: string | number | null | undefined;
};

interface InputAttributes {
  readonly id: string;
  readonly name: string;
}

/**
 * An input with its label above, and its fault and its hint below, which screen readers read with the input. A wrong field gets
 * the focus.
 */
function Input({
  name,
  wireName = name,
  id = `field-${name}`,
  label,
  hint,
  value,
  draw,
}: InputProps & { draw: (attributes: InputAttributes, entry: string) => Child }) {
  const { texts } = usePage();
  const fault = useFault(wireName);
  const notes = [...(hint === undefined ? [] : [`${id}-hint`]), ...(fault === null ? [] : [`${id}-fault`])];
  const attributes = {
    id,
    name,
    ...(notes.length > 0 && { 'aria-describedby': notes.join(' ') }),
    ...(fault !== null && { 'aria-invalid': 'true' as const, autofocus: true }),
  };
  return (
    <div class="field">
      <label for={id}>{label ?? fieldLabel(name, texts)}</label>
      {draw(attributes, useEntry(name, value))}
      {fault === null ? null : (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

export type FieldProps = InputProps & {
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'date' | 'datetime-local' | 'url' | 'search';
  readonly required?: boolean;
  readonly autocomplete?: string;
  readonly inputMode?: 'numeric' | 'decimal' | 'text';
  readonly lines?: number;
};

/** A field to type into. */
export function Field({ type = 'text', required = false, autocomplete, inputMode, lines, ...field }: FieldProps) {
  const draw = (attributes: InputAttributes, entry: string) => {
    const common = { ...attributes, required, autocomplete };
    return lines === undefined ? (
      <input {...common} type={type} value={type === 'password' ? '' : entry} inputMode={inputMode} />
    ) : (
      <textarea {...common} rows={lines}>
        {entry}
      </textarea>
    );
  };
  return <Input {...field} draw={draw} />;
}

interface FileFieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly accept: string;
  readonly maxBytes: number;
  readonly tooLarge: string;
}

/** An input for a file of at most so many bytes. The script of the page says `tooLarge` before a larger one is sent. */
export function FileField({ accept, maxBytes, tooLarge, ...field }: FileFieldProps) {
  const limits = { 'data-max-bytes': String(maxBytes), 'data-too-large': tooLarge };
  return (
    <Input
      {...field}
      draw={(attributes) => <input {...attributes} type="file" accept={accept} required {...limits} />}
    />
  );
}

type ChoiceProps = InputProps & { readonly options: readonly (readonly [value: string, label: string])[] };

export function Choice({ options, ...field }: ChoiceProps) {
  const draw = (attributes: InputAttributes, entry: string) => (
    <select {...attributes}>
      {options.map(([option, words]) => (
        <option value={option} selected={option === entry}>
          {words}
        </option>
      ))}
    </select>
  );
  return <Input {...field} draw={draw} />;
}

interface CheckProps {
  readonly name: string;
  readonly value: string;
  readonly label: Child;
  readonly isChecked: boolean;
}

/** A box to tick. Boxes with the same name send all their ticked values. */
export function Check({ name, value, label, isChecked }: CheckProps) {
  const refusal = useContext(RefusedForm);
  const checked = refusal ? refusal.sent.all(name).includes(value) : isChecked;
  return (
    <label class="check">
      <input type="checkbox" name={name} value={value} checked={checked} /> {label}
    </label>
  );
}

/** How a button looks; by default, as the main one. */
export type Look = 'quiet' | 'danger' | '';

interface FormProps {
  readonly action: string;
  readonly class?: string;
  readonly id?: string;
  readonly role?: 'search';
  /** For a form with a file. */
  readonly enctype?: 'multipart/form-data';
  readonly [data: `data-${string}` | `hx-${string}`]: string;
  /** The text of the button at the end. A form without it has its own buttons. */
  readonly submit?: string;
  readonly look?: Look;
  readonly children?: Child;
}

/**
 * A form that changes something. The form carries the session's token, and an id so that the form is carried out once. When the
 * page answers the form with a refusal, the wrong field says so, and all entries stay but passwords.
 */
export function Form({ action, submit, look, children, ...rest }: FormProps) {
  const { session } = usePage();
  const button = (
    <button type="submit" class={look}>
      {submit}
    </button>
  );
  return (
    <form method="post" action={action} {...rest}>
      {session === null ? null : <input type="hidden" name="form_token" value={session.formToken} />}
      <FormId />
      <RefusedForm.Provider value={useRefusal(action)}>{children}</RefusedForm.Provider>
      {submit === undefined ? null : rest.class === 'grid' ? <div>{button}</div> : button}
    </form>
  );
}

interface FormButtonProps {
  readonly action: string;
  readonly label: string;
  readonly look?: Look;
  readonly question?: string;
  /** The value that the form sends. */
  readonly entries?: Readonly<Record<string, string>>;
}

/** A form that is only a button. With a question, the button appears together with the question, behind its label. */
export function FormButton({ action, label, look = 'quiet', question, entries = {} }: FormButtonProps) {
  const form = (
    <Form action={action} submit={label} look={look}>
      {Object.entries(entries).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    </Form>
  );
  if (question === undefined) return form;
  return (
    <details class="question">
      <summary class="button quiet">{`${label} …`}</summary>
      <p>{question}</p>
      {form}
    </details>
  );
}

/** A link that looks like a button. */
export function ButtonLink({ href, label, look }: { href: string; label: Child; look?: Look }) {
  return (
    <a class={look ? `button ${look}` : 'button'} href={href}>
      {label}
    </a>
  );
}

/** Asks before deletion. The form is sent to `path` + `/delete`. */
export function ConfirmDeletion({ path, backTo }: { path: string; backTo: string }) {
  const { common } = useTexts();
  return (
    <div class="row">
      <FormButton action={`${path}/delete`} label={common.delete} look="danger" />
      <ButtonLink href={backTo} label={common.cancel} look="quiet" />
    </div>
  );
}

/** Links to older entries and to the newest entries. */
export function Pages({ next }: { next: string | null }) {
  const { texts, query, path } = usePage();
  const queryWith = useQuery();
  const withCursor = (cursor: string | null): string => path + queryWith({ cursor });
  return (
    <nav class="pages" aria-label={texts.common.older}>
      {query.has('cursor') ? <a href={withCursor(null)}>{texts.common.newest}</a> : null}
      {next === null ? null : <a href={withCursor(next)}>{texts.common.older}</a>}
    </nav>
  );
}

/** Text to copy, such as a key; `lines` keeps line breaks. */
export function Copyable({ text, label, lines }: { text: string; label: string; lines?: boolean }) {
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

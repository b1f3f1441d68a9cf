/** The components of pages. hono/jsx escapes all text. */
import { type Child, createContext, useContext } from 'hono/jsx';
import type { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { formatDollars, formatUsd, type PicoUsd } from '../../domain/money.ts';
import type { Form as SentForm } from '../form.ts';
import { type FieldProblem, fieldLabel, type FieldName, fieldProblemOf, problemMessage } from '../form-problem.ts';
import { ChangedSinceError, marksOf, SHOWN_FIELD, type StoredFields } from '../stored-fields.ts';
import { usePage, useQuery, useTexts } from './page-context.ts';

/** Formats an amount with two to six decimal places. */
export function usd(amount: PicoUsd): string {
  const [whole = '', fraction = ''] = formatDollars(amount).split('.');
  return `${whole}.${fraction
    .slice(0, 6)
    .replace(/(?<!0)0+$/, '')
    .padEnd(2, '0')}`;
}

export function Money({ amount }: { amount: PicoUsd }) {
  return (
    <span class="money" title={`${formatUsd(amount)} USD`}>
      {usd(amount)}
    </span>
  );
}

/** An amount as a headline, with two decimal places. A click copies all digits, which are also the hint. */
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

/** Formats an amount with two decimal places, rounded towards zero. An amount below a cent is not shown as zero. */
export function roundedUsd(amount: PicoUsd): string {
  if (amount > 0n && amount < CENT) return '<$0.01';
  if (amount < 0n && amount > -CENT) return '>-$0.01';
  return formatDollars(amount - (amount % CENT));
}

/** An amount rounded to cents, for a list without a total. The hint has all digits. */
export function RoundedMoney({ amount }: { amount: PicoUsd }) {
  return (
    <span class="money" title={`${formatUsd(amount)} USD`}>
      {roundedUsd(amount)}
    </span>
  );
}

/** An exact amount, for tables whose rows add up to a total. @param isSigned whether to show a plus */
export function ExactMoney({ amount, isSigned = false }: { amount: PicoUsd; isSigned?: boolean }) {
  return (
    <span class="money">
      {isSigned && amount > 0n ? '+' : ''}
      {formatDollars(amount)}
    </span>
  );
}

/** A moment in UTC. The hint has the exact moment. */
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

/** @param facts null entries are left out */
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

interface PolledProps {
  readonly path: string;
  readonly seconds: number;
  /** Whether the part does not change any more. */
  readonly isFinal?: boolean;
  readonly children?: Child;
}

/** A part of a page that the browser requests again, from a path of its own, until the part is final. */
export function Polled({ path, seconds, isFinal = false, children }: PolledProps) {
  const live = { 'hx-get': path, 'hx-trigger': `every ${seconds}s`, 'hx-swap': 'outerHTML' };
  return <div {...(isFinal ? {} : live)}>{children}</div>;
}

export function Empty({ children }: { children: Child }) {
  return <p class="empty">{children}</p>;
}

/** Content, with a note below if there is one. */
export function WithNote({ note, children }: { note: Child; children: Child }) {
  return (
    <>
      {children}
      {note === null || note === undefined ? null : <div class="soft">{note}</div>}
    </>
  );
}

/** Why a form was refused. Screen readers announce the text. @param of an error, or a text in the reader's language */
export function Problem({ of }: { of: ServiceError | string | null }) {
  return of === null ? null : (
    <p class="problem" role="alert">
      {typeof of === 'string' ? of : <ProblemText of={of} />}
    </p>
  );
}

export function ProblemText({ of }: { of: ServiceError }) {
  const { message, english } = problemMessage(of, useTexts());
  return (
    <>
      {message}
      {english === null ? null : <span lang="en">{english}</span>}
    </>
  );
}

/** The refusal of a form, and the sent form. */
interface Refusal {
  /** Null if no single field is wrong. */
  readonly problem: FieldProblem | null;
  readonly sent: SentForm;
  /** The marks of the stored fields that the reader has seen. */
  readonly marks: string;
}

/** The form around a component. */
interface CurrentForm {
  /** Null if the form was not refused. */
  readonly refusal: Refusal | null;
  readonly stored: StoredFields;
}

const AroundForm = createContext<CurrentForm>({ refusal: null, stored: {} });

/** Returns the refusal of the form with this action; null if the form was not sent, or was accepted. */
export function useRefusal(action: string): Refusal | null {
  const { context, problem, form, texts } = usePage();
  if (problem === null || action !== context.path) return null;
  const marks = problem instanceof ChangedSinceError ? problem.marks : form.text(SHOWN_FIELD);
  return { problem: fieldProblemOf(problem, texts), sent: form, marks };
}

/** The fault of a field of the enclosing form, in the reader's language, or null. @param wireName the API's name */
function useFault(wireName: string): string | null {
  const problem = useContext(AroundForm).refusal?.problem;
  return problem?.field === wireName ? problem.message : null;
}

/** The initial value of a field, by default the stored value; in a refused form, the sent value. */
function useEntry({ name, wireName = name, value }: InputProps): string {
  const { refusal, stored } = useContext(AroundForm);
  return refusal?.sent.text(name) ?? String(value ?? stored[wireName] ?? '');
}

/** A field with a label. By default, the label is that of the API's field with the same name. */
export type Labelled =
  | { readonly name: FieldName; readonly label?: string }
  | { readonly name: string; readonly label: string };

type InputProps = Labelled & {
  /** The API's name of the field, if it differs. */
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
 * An input with its label above, and its fault and hint below, which screen readers read with the input. A wrong field
 * gets the focus.
 */
function Input({
  draw,
  ...field
}: InputProps & { readonly draw: (attributes: InputAttributes, entry: string) => Child }) {
  const { name, wireName = name, id = `field-${name}`, label, hint } = field;
  const { texts } = usePage();
  const entry = useEntry(field);
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
      {draw(attributes, entry)}
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
  readonly type?: 'text' | 'email' | 'password' | 'date' | 'datetime-local' | 'url' | 'search';
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

/** An input for a file of at most `maxBytes`. The page's script shows `tooLarge` instead of sending a larger file. */
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
      {options.map(([option, messages]) => (
        <option value={option} selected={option === entry}>
          {messages}
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
  const { refusal } = useContext(AroundForm);
  const checked = refusal ? refusal.sent.all(name).includes(value) : isChecked;
  return (
    <label class="check">
      <input type="checkbox" name={name} value={value} checked={checked} /> {label}
    </label>
  );
}

/** The look of a button; by default, that of the main button. */
export type ButtonVariant = 'quiet' | 'danger' | '';

interface FormProps {
  readonly action: string;
  readonly class?: string;
  readonly id?: string;
  readonly role?: 'search';
  /** For a form with a file. */
  readonly enctype?: 'multipart/form-data';
  readonly [data: `data-${string}` | `hx-${string}`]: string;
  /** The text of the button at the end. A form without this text has its own buttons. */
  readonly submit?: string;
  readonly look?: ButtonVariant;
  /** The stored fields that the form shows and changes. Its page saves it with `saveIfUnchanged`. */
  readonly stored?: StoredFields | null;
  readonly children?: Child;
}

/**
 * A form that changes something. The form contains the session's token, and an id so that its work is done once. Each
 * visit of a page has new ids: a refused form keeps its id, and so does a sent form to which the browser returns
 * (`console.js`). If the form is refused, its page shows the fault at the wrong field, and keeps all entries except
 * passwords.
 */
export function Form({ action, submit, look, stored = null, children, ...rest }: FormProps) {
  const { session } = usePage();
  const refusal = useRefusal(action);
  const button = (
    <button type="submit" class={look}>
      {submit}
    </button>
  );
  return (
    <form method="post" action={action} {...rest}>
      {session === null ? null : <input type="hidden" name="form_token" value={session.formToken} />}
      {/* Without `autocomplete="off"`, a browser would restore ids after a reload, which starts a new visit. */}
      <input type="hidden" name="form_id" value={refusal?.sent.exact('form_id') || newId('form')} autocomplete="off" />
      {stored === null ? null : (
        // Browsers would otherwise restore the marks of an older page.
        <input type="hidden" name={SHOWN_FIELD} value={refusal?.marks ?? marksOf(stored)} autocomplete="off" />
      )}
      <AroundForm.Provider value={{ refusal, stored: stored ?? {} }}>{children}</AroundForm.Provider>
      {submit === undefined ? null : rest.class === 'grid' ? <div>{button}</div> : button}
    </form>
  );
}

interface FormButtonProps {
  readonly action: string;
  readonly label: string;
  readonly look?: ButtonVariant;
  readonly question?: string;
  /** The values that the form sends. */
  readonly entries?: Readonly<Record<string, string>>;
}

/** A form that is only a button. With a question, a click on the label first shows the question and the button. */
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
export function ButtonLink({ href, label, look }: { href: string; label: Child; look?: ButtonVariant }) {
  return (
    <a class={look ? `button ${look}` : 'button'} href={href}>
      {label}
    </a>
  );
}

/** Asks before a deletion. The form's action is `path` + `/delete`. */
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

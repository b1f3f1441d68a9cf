/** Refusals of forms, and their messages for the reader. */
import { type ErrorCode, ServiceError } from '../domain/errors.ts';
import type { Texts } from './texts/texts.ts';

/** A refusal with a message in the reader's language. */
export class FormError extends ServiceError {
  /** The API's name of the wrong field; null if no single field is wrong. */
  readonly field: string | null;

  constructor(
    message: string,
    { field, code = 'bad_request' }: { readonly field?: string; readonly code?: ErrorCode } = {},
  ) {
    super(code, message);
    this.field = field ?? null;
  }
}

/** The refusal of a form that took effect before, or may have. */
export class SentBeforeError extends FormError {
  /** The path of the page that shows what the form did, below the console; empty if there is none. */
  readonly outcome: string;

  constructor(message: string, outcome = '') {
    super(message, { code: 'idempotency_conflict' });
    this.outcome = outcome;
  }
}

/** Whether an error is the refusal of a form, after which the form's page is shown again. Other errors have a page. */
export function isFormError(error: unknown): error is ServiceError {
  return error instanceof FormError || (error instanceof ServiceError && error.status < 500);
}

/** The wrong field of a form, and how to correct it, in the reader's language. */
export interface FieldProblem {
  /** The API's name of the field. */
  readonly field: string;
  readonly message: string;
}

/** Returns null if no single field is wrong, or if the console has no message for the broken rule. */
export function fieldProblemOf(error: ServiceError, { faults, language }: Texts): FieldProblem | null {
  if (error instanceof FormError) return error.field === null ? null : { field: error.field, message: error.message };
  if (error.fieldFault === null) return null;
  const { path, kind, values } = error.fieldFault;
  const kinds: Readonly<Record<string, string>> = faults.kinds;
  const template = kinds[kind];
  if (path[0] === undefined || template === undefined) return null;
  return { field: String(path[0]), message: filled(template, values, language) };
}

/** Replaces names in braces with the values of the broken rule, such as its limit. */
export function filled(template: string, values: Readonly<Record<string, unknown>>, language: string): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (typeof value === 'number') return value.toLocaleString(language);
    return Array.isArray(value) ? value.filter((one) => one !== null).join(', ') : String(value);
  });
}

/** The message of a refusal for the reader. */
export interface ProblemMessage {
  readonly message: string;
  /** The message of the API, if the console does not have it in the reader's language; otherwise null. */
  readonly english: string | null;
}

export function problemMessage(error: ServiceError, texts: Texts): ProblemMessage {
  if (error instanceof FormError) return { message: error.message, english: null };
  const problem = fieldProblemOf(error, texts);
  if (problem !== null)
    return { message: texts.faults.in(labelOf(problem.field, error, texts), problem.message), english: null };
  if (texts.language === 'en') return { message: error.message, english: null };
  return { message: texts.faults.codes[error.code] ?? texts.faults.other, english: error.message };
}

export type FieldName = keyof Texts['fields'];

/** The label of a field; its name if the texts have no label. */
export function fieldLabel(name: string, { fields }: Texts): string {
  const labels: Readonly<Record<string, string>> = fields;
  return labels[name] ?? name;
}

/** The label of a field, with the number of the wrong item if the field is a list. */
function labelOf(field: string, { fieldFault }: ServiceError, texts: Texts): string {
  const label = fieldLabel(field, texts);
  const item = fieldFault?.path[1] ?? fieldFault?.values['index'];
  return typeof item === 'number' ? texts.faults.item(label, item + 1) : label;
}

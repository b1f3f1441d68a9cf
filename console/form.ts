/** Reads forms from browsers: https://url.spec.whatwg.org/#application/x-www-form-urlencoded */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { readBody } from '../api/middlewares/json-body.ts';
import { createParser, toRefusal } from '../api/receive-upload.ts';
import { isStorable } from '../domain/storable-text.ts';
import { badRequest, ServiceError } from '../domain/errors.ts';

const MAX_FORM_BYTES = 256 * 1024;
const MAX_FIELDS = 200;
const NO_UTF8 = 'The form is not UTF-8.';
const UNSTORABLE = 'A field has a NUL character in it. Remove it.';
const BYTES_PER_MB = 2 ** 20;

export class Form {
  readonly #fields: URLSearchParams;
  /** The text of the form's file; empty if there is none. */
  readonly file: string;
  /** Whether the file is text in UTF-8. Its page refuses any other file, and keeps the entries. */
  readonly isFileText: boolean;

  constructor(fields: URLSearchParams = new URLSearchParams(), file: string | null = '') {
    this.#fields = fields;
    this.file = file ?? '';
    this.isFileText = file !== null;
  }

  /** Returns the trimmed text of a field, or an empty text if the field was not sent. */
  text(name: string): string {
    return (this.#fields.get(name) ?? '').trim();
  }

  /** Returns the text of a field unchanged, for passwords. */
  exact(name: string): string {
    return this.#fields.get(name) ?? '';
  }

  /** Returns the trimmed texts of all fields with this name. */
  all(name: string): string[] {
    return this.#fields.getAll(name).map((value) => value.trim());
  }

  /** Returns the words of all fields with this name, at most `most` + 1: enough to detect too many words. */
  words(name: string, most: number, word = /\S+/g): string[] {
    const found: string[] = [];
    for (const value of this.#fields.getAll(name)) {
      for (const [text] of value.matchAll(word)) {
        if (found.push(text) > most) return found;
      }
    }
    return found;
  }

  /** Returns the form with one field replaced. */
  with(name: string, value: string): Form {
    const fields = new URLSearchParams(this.#fields);
    fields.set(name, value);
    return new Form(fields, this.isFileText ? this.file : null);
  }

  /** Encodes the fields of the form as browsers do. */
  toString(): string {
    return this.#fields.toString();
  }

  /** Returns null for an empty field. */
  optional(name: string): string | null {
    return this.text(name) || null;
  }

  /** Returns null for an empty field, and NaN, which schemas refuse, for text that is not a number. */
  number(name: string): number | null {
    const sent = this.optional(name);
    return sent === null ? null : Number(sent);
  }
}

/** @throws ServiceError `bad_request` if the body is not a form */
export async function readForm(request: IncomingMessage): Promise<Form> {
  if (!isUrlEncoded(request)) {
    throw badRequest('Forms of the console are sent as application/x-www-form-urlencoded.');
  }
  const bytes = await readBody(request, MAX_FORM_BYTES);
  if (!isUtf8(bytes)) throw badRequest(NO_UTF8);
  if (countOf(bytes, '&') >= MAX_FIELDS) throw badRequest(`A form has at most ${MAX_FIELDS} fields.`);
  const fields = new URLSearchParams(bytes.toString());
  if (![...fields.values()].every(isStorable)) throw badRequest(UNSTORABLE);
  return new Form(fields);
}

/**
 * Reads a form with a text file: https://www.rfc-editor.org/rfc/rfc7578. Without a file, accepts any form.
 *
 * @throws ServiceError 413 if the file is larger than `maxFileBytes`, and `bad_request` if the body is not a form
 */
export async function readFormWithFile(request: IncomingMessage, maxFileBytes: number): Promise<Form> {
  if (isUrlEncoded(request)) return readForm(request);
  const parser = createParser(request, { fields: MAX_FIELDS, fieldSize: MAX_FORM_BYTES, files: 1 });
  const bytes = await readBody(request, maxFileBytes + MAX_FORM_BYTES).catch((error: unknown) => {
    throw isTooLarge(error) ? fileTooLarge(maxFileBytes) : error;
  });
  const fields = new URLSearchParams();
  const pieces: Buffer[] = [];
  parser.on('field', (name, value) => fields.append(name, value));
  parser.on('file', (_name, content) => content.on('data', (piece: Buffer) => pieces.push(piece)));
  parser.end(bytes);
  await finished(parser, { readable: false }).catch(toRefusal);
  const file = Buffer.concat(pieces);
  if (file.byteLength > maxFileBytes) throw fileTooLarge(maxFileBytes);
  if (![...fields.values()].every(isStorable)) throw badRequest(UNSTORABLE);
  return new Form(fields, isUtf8(file) ? file.toString() : null);
}

function isTooLarge(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'read_request_body_failed' && error.status === 413;
}

function fileTooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    'read_request_body_failed',
    `The file is larger than ${maxBytes / BYTES_PER_MB} MB. Add up the lines of a job or a model, or leave columns out.`,
  );
}

function isUrlEncoded({ headers }: IncomingMessage): boolean {
  return (headers['content-type'] ?? '').toLowerCase().startsWith('application/x-www-form-urlencoded');
}

function countOf(bytes: Buffer, sign: string): number {
  let count = 0;
  for (let at = bytes.indexOf(sign); at !== -1; at = bytes.indexOf(sign, at + 1)) count += 1;
  return count;
}

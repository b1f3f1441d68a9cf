/** Forms as browsers send them: https://url.spec.whatwg.org/#application/x-www-form-urlencoded */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { readBody } from '../api/middlewares/json-body.ts';
import { isStorable } from '../api/validation.ts';
import { badRequest } from '../domain/errors.ts';

const MAX_FORM_BYTES = 256 * 1024;
const MAX_FIELDS = 200;

export class Form {
  readonly #fields: URLSearchParams;

  constructor(fields: URLSearchParams = new URLSearchParams()) {
    this.#fields = fields;
  }

  /** Returns the trimmed text of a field, or an empty text if the field was not sent. */
  text(name: string): string {
    return (this.#fields.get(name) ?? '').trim();
  }

  /** Returns the text unchanged, for passwords. */
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
    return new Form(fields);
  }

  /** Encodes the form as browsers do. */
  toString(): string {
    return this.#fields.toString();
  }

  /** Returns null for an empty field. */
  optional(name: string): string | null {
    return this.text(name) || null;
  }

  /** Returns null for an empty field, and NaN for what is no number, which schemas refuse. */
  number(name: string): number | null {
    const sent = this.optional(name);
    return sent === null ? null : Number(sent);
  }
}

/** @throws ServiceError `bad_request` if the body is not a form */
export async function readForm(request: IncomingMessage): Promise<Form> {
  const type = request.headers['content-type'] ?? '';
  if (!type.toLowerCase().startsWith('application/x-www-form-urlencoded')) {
    throw badRequest('Forms of the console are sent as application/x-www-form-urlencoded.');
  }
  const bytes = await readBody(request, MAX_FORM_BYTES);
  if (!isUtf8(bytes)) throw badRequest('The form is not UTF-8.');
  if (countOf(bytes, '&') >= MAX_FIELDS) throw badRequest(`A form has at most ${MAX_FIELDS} fields.`);
  const fields = new URLSearchParams(bytes.toString());
  if (![...fields.values()].every(isStorable)) throw badRequest('A field has a NUL character in it. Remove it.');
  return new Form(fields);
}

function countOf(bytes: Buffer, sign: string): number {
  let count = 0;
  for (let at = bytes.indexOf(sign); at !== -1; at = bytes.indexOf(sign, at + 1)) count += 1;
  return count;
}

/** What browsers send in forms: https://url.spec.whatwg.org/#application/x-www-form-urlencoded */
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

  /** The field's text without the space around it; empty when it was not sent. */
  text(name: string): string {
    return (this.#fields.get(name) ?? '').trim();
  }

  /** As it was typed: for passwords. */
  exact(name: string): string {
    return this.#fields.get(name) ?? '';
  }

  /** The texts of all fields of that name, without the space around them. */
  all(name: string): string[] {
    return this.#fields.getAll(name).map((value) => value.trim());
  }

  /** The words of all fields of that name, at most one more than `most`: enough to see that there are too many. */
  words(name: string, most: number, word = /\S+/g): string[] {
    const found: string[] = [];
    for (const value of this.#fields.getAll(name)) {
      for (const [text] of value.matchAll(word)) {
        if (found.push(text) > most) return found;
      }
    }
    return found;
  }

  /** The same form with another value in one field. */
  with(name: string, value: string): Form {
    const fields = new URLSearchParams(this.#fields);
    fields.set(name, value);
    return new Form(fields);
  }

  /** As browsers send it. */
  toString(): string {
    return this.#fields.toString();
  }

  /** Null when nothing was typed. */
  optional(name: string): string | null {
    return this.text(name) || null;
  }
}

/** @throws ServiceError `bad_request` for anything but a form */
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

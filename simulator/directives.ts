/**
 * Directives: `[sim:name=value,name]` anywhere in a prompt or message controls the simulator. All formats share
 * the syntax; each follows the names that it knows and ignores the others.
 */

/** Names and values as written; a name without a value has an empty one. */
export type Directives = ReadonlyMap<string, string>;

/** A directive with an invalid value. Ignoring it silently would make a test pass for the wrong reason. */
export class BadDirectiveError extends Error {
  override readonly name = 'BadDirectiveError';
}

const DIRECTIVES = /\[sim:([^\][]{0,4000})\]/g;

/** Collects the directives of a text; of two with the same name the later one counts. */
export function parseDirectives(text: string): Directives {
  const directives = new Map<string, string>();
  for (const [, list = ''] of text.matchAll(DIRECTIVES)) {
    for (const item of list.split(',')) {
      const [name = '', ...value] = item.split('=');
      if (name.trim() !== '') directives.set(name.trim(), value.join('=').trim());
    }
  }
  return directives;
}

/**
 * The value of a directive that is a whole number from 0.
 *
 * @returns undefined when the directive is absent
 * @throws BadDirectiveError when its value is invalid
 */
export function wholeNumber(directives: Directives, name: string): number | undefined {
  const value = directives.get(name);
  if (value === undefined) return undefined;
  if (!/^\d{1,9}$/.test(value)) throw new BadDirectiveError(`directive "${name}" needs a whole number`);
  return Number(value);
}

/**
 * The value of a directive that is one of a few words.
 *
 * @returns undefined when the directive is absent
 * @throws BadDirectiveError when its value is another word
 */
export function oneOf<Word extends string>(
  directives: Directives,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const value = directives.get(name);
  if (value === undefined) return undefined;
  const word = words.find((candidate) => candidate === value);
  if (word === undefined) throw new BadDirectiveError(`directive "${name}" must be one of: ${words.join(', ')}`);
  return word;
}

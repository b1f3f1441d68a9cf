/** Environment variables in files that operators write: `${NAME}` in any string, and `$$` for a literal `$`. */

/** The value of an environment variable, if it is set. */
export type ReadVariable = (name: string) => string | undefined;

/** The path of a value in a document: names of fields, and indexes in lists, from 0. */
export type FieldPath = readonly (string | number)[];

/** A variable that is not set. */
export interface MissingVariable {
  readonly path: FieldPath;
  readonly name: string;
}

const REFERENCE = /\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\})/g;

/**
 * Replaces the references in every string of a parsed document, except in the names of its fields.
 *
 * @returns the document, and the missing variables; references to them stay unchanged
 */
export function substituteVariables(
  document: unknown,
  read: ReadVariable,
): { readonly filled: unknown; readonly missing: readonly MissingVariable[] } {
  const missing: MissingVariable[] = [];

  function fillInText(text: string, path: FieldPath): string {
    return text.replace(REFERENCE, (reference, name: string | undefined) => {
      if (name === undefined) return '$';
      const value = read(name);
      if (value === undefined) missing.push({ path, name });
      return value ?? reference;
    });
  }

  function fillInValue(value: unknown, path: FieldPath): unknown {
    if (typeof value === 'string') return fillInText(value, path);
    if (Array.isArray(value)) return value.map((item, index) => fillInValue(item, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fillInValue(item, [...path, name])]));
  }

  return { filled: fillInValue(document, []), missing };
}

/** A path as messages write it: `media.videos[0].route`. */
export function writePath(path: FieldPath): string {
  return path.reduce<string>((written, step) => {
    if (typeof step === 'number') return `${written}[${step}]`;
    return written === '' ? step : `${written}.${step}`;
  }, '');
}

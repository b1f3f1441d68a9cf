/** Values of the environment in files that operators write: `${NAME}` in any string, and `$$` for one `$`. */

/** The value of an environment variable, if it is set. */
export type ReadVariable = (name: string) => string | undefined;

const REFERENCE = /\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\})/g;

/**
 * Fills every string of a parsed document in, the names of its fields excepted.
 *
 * @throws RangeError naming the field and the variable that is not set
 */
export function fillIn(document: unknown, read: ReadVariable, path = ''): unknown {
  if (typeof document === 'string') return fillInText(document, read, path);
  if (Array.isArray(document)) return document.map((item, index) => fillIn(item, read, `${path}[${index}]`));
  if (typeof document !== 'object' || document === null) return document;
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) => [
      name,
      fillIn(value, read, path === '' ? name : `${path}.${name}`),
    ]),
  );
}

function fillInText(text: string, read: ReadVariable, path: string): string {
  return text.replace(REFERENCE, (_all, name: string | undefined) => {
    if (name === undefined) return '$';
    const value = read(name);
    if (value === undefined) throw new RangeError(`"${path}" needs the environment variable ${name}, which is not set`);
    return value;
  });
}

/**
 * Sets variables of this process's environment for the tests of a suite, and restores them.
 *
 * The object `process.env` stays: a plain one in its place would no longer tell Node of a new time zone.
 *
 * @param variables undefined for a variable that is not set
 */
export function useEnvironment(variables: Readonly<Record<string, string | undefined>>): void {
  const kept: Record<string, string | undefined> = {};
  before(() => {
    for (const name of Object.keys(variables)) kept[name] = process.env[name];
    set(variables);
  });
  after(() => set(kept));
}

function set(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

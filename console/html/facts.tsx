import type { Child } from 'hono/jsx';

/** @param facts of which those that are null are left out */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, fact: Child] | null)[] }) {
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

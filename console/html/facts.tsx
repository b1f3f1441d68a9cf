import type { Child } from 'hono/jsx';

/** @param facts null for a fact to leave out */
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

/** Calls as code. */
import { Card } from '../html/components.tsx';
import { type Call, examplesOf } from '../pages/playground/calls.ts';

interface ExamplesProps {
  readonly calls: readonly Call[];
  /** Whether to show the calls in the first language only. */
  readonly isShort?: boolean;
}

/** Calls that run as they stand once API_KEY has a key. */
export function Examples({ calls, isShort = false }: ExamplesProps) {
  return (
    <>
      {calls.map((call) => (
        <Card title={new URL(call.url).pathname}>
          {examplesOf(call)
            .slice(0, isShort ? 1 : undefined)
            .map(({ language, code }) => (
              <>
                <h3>{language}</h3>
                <Code>{code}</Code>
              </>
            ))}
        </Card>
      ))}
    </>
  );
}

export function Code({ children }: { children: string }) {
  return (
    <pre class="example" tabIndex={0}>
      {children}
    </pre>
  );
}

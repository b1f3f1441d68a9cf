/** A form by which operators do something, each with a reason. */
import type { Child } from 'hono/jsx';
import type { ServiceError } from '../../domain/errors.ts';
import { Card, Field, Form, Problem } from './components.tsx';
import { useTexts } from './page-context.ts';

export function ReasonCard({
  title,
  hint,
  action,
  look,
  problem = null,
  reason,
  children,
}: {
  /** The text of the button, too. */
  readonly title: string;
  readonly hint: string;
  /** A path below `/console/staff`. */
  readonly action: string;
  readonly look: 'danger' | 'quiet' | '';
  readonly problem?: ServiceError | null;
  /** The reason given before. */
  readonly reason?: string;
  /** The fields before the reason. */
  readonly children?: Child;
}) {
  const { staff } = useTexts();
  return (
    <Card title={title}>
      <Problem message={problem?.message ?? null} />
      <p class="soft">{hint}</p>
      <Form action={`/console/staff/${action}`}>
        {children}
        <Field name="reason" id={`${action}-reason`} label={staff.reason} value={reason ?? ''} required />
        <button type="submit" class={look}>
          {title}
        </button>
      </Form>
    </Card>
  );
}

/** A form for an action of operators, which requires a reason. */
import type { Child } from 'hono/jsx';
import type { StoredFields } from '../stored-fields.ts';
import { Card, Field, Form } from './components.tsx';

interface ReasonCardProps {
  /** The title of the card and the text of the button. */
  readonly title: string;
  readonly hint: string;
  /** A path below `/console/staff`. */
  readonly action: string;
  readonly look: 'danger' | 'quiet' | '';
  readonly stored?: StoredFields;
  /** The fields before the reason. */
  readonly children?: Child;
}

export function ReasonCard({ title, hint, action, look, stored, children }: ReasonCardProps) {
  return (
    <Card title={title}>
      <p class="soft">{hint}</p>
      <Form action={`/console/staff/${action}`} submit={title} look={look} {...(stored && { stored })}>
        {children}
        <Field name="reason" id={`${action}-reason`} required />
      </Form>
    </Card>
  );
}

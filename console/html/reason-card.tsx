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

interface ReasonCardsProps {
  /** The object's path below `/console/staff`. */
  readonly path: string;
  /** The actions by their paths below the object; `cancel` ends it. */
  readonly actions: readonly (readonly [name: string, title: string, hint: string])[];
}

/** The actions of operators on one object. */
export function ReasonCards({ path, actions }: ReasonCardsProps) {
  return (
    <div class="grid">
      {actions.map(([name, title, hint]) => (
        <ReasonCard
          title={title}
          hint={hint}
          action={`${path}/${name}`}
          look={name === 'cancel' ? 'danger' : 'quiet'}
        />
      ))}
    </div>
  );
}

import type { WebhookEndpoint } from '../../db/queries/webhook-endpoints.ts';
import { WithNote } from './components.tsx';
import { Chosen } from './resource-table.tsx';

/** Shows whether an endpoint is enabled, failing or disabled, and why it is disabled. */
export function EndpointState({
  endpoint: { disabledAt, disabledReason, failingSince },
}: {
  readonly endpoint: WebhookEndpoint;
}) {
  const isDisabled = disabledAt !== null;
  return (
    <WithNote note={isDisabled ? disabledReason : null}>
      <Chosen name="state" value={isDisabled ? 'disabled' : failingSince ? 'failing' : 'enabled'} />
    </WithNote>
  );
}

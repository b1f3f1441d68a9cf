/** Checks whether tasks, deliveries and their workflows agree. */
import { toBatches } from '../to-batches.ts';
import { findUnknownDeliveries } from '../queries/recovery.ts';
import type { Check, Discrepancy, Sources } from './check.ts';

/** After ending its task, a workflow still notifies webhooks and the provider before it closes. */
const GRACE_MINUTES = 10;
const PAGE_SIZE = 1_000;

export const WORKFLOW_CHECK: Check = {
  name: 'workflows',
  question: 'Is the workflow of a task open exactly while the task is running?',
  remedy:
    'Open the workflow in Temporal. Terminate a workflow whose task is final or missing. `genway recover` restarts tasks whose workflow is missing; cancelling such a task refunds it.',
  async *find(sources) {
    yield* findOpenWorkflowsOfFinalTasks(sources);
    yield* findRunningTasksWithoutWorkflow(sources);
  },
};

/** Longer than the relay needs to find overdue deliveries. */
const OVERDUE_MINUTES = 15;

export const DELIVERY_CHECK: Check = {
  name: 'deliveries',
  question:
    'Does a workflow or a relay make the next attempt of every pending webhook delivery, and of no other delivery?',
  remedy:
    'Check that api processes are running: their relays start deliveries. `genway recover` restarts deliveries whose workflow is missing, and lists workflows without a delivery.',
  async *find(sources) {
    yield* findDeliveriesWithoutWorkflow(sources);
    yield* findUnstartedDeliveries(sources);
    yield* findOpenWorkflowsOfUnknownDeliveries(sources);
  },
};

async function* findDeliveriesWithoutWorkflow({ database, workflows }: Sources): AsyncIterable<Discrepancy> {
  const overdue = await database<{ id: string; status: string }>('deliveries')
    .where({ status: 'pending' })
    .whereNotNull('workflow_started_at')
    .whereRaw('coalesce(next_attempt_at, workflow_started_at) < now() - make_interval(mins => :minutes)', {
      minutes: OVERDUE_MINUTES,
    })
    .orderBy('id')
    .select('id');
  for (const { id } of overdue) {
    if (await workflows.isOpen(id)) continue;
    // The task may have ended during the check.
    const still = await database('deliveries').where({ id, status: 'pending' }).whereNotNull('workflow_started_at');
    if (still.length > 0)
      yield { subject: id, detail: 'the delivery is pending, but its workflow is closed or missing' };
  }
}

/** Skips deliveries to a hanging endpoint, or of an account with running attempts, which may wait long. */
async function* findUnstartedDeliveries({ database }: Sources): AsyncIterable<Discrepancy> {
  const { rows } = await database.raw<{ rows: Discrepancy[] }>(
    /* sql */ `
    SELECT delivery.id AS subject, format('the delivery is pending, it was to be started at %s',
      to_json(next_start_at) #>> '{}') AS detail
    FROM deliveries AS delivery JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
    WHERE delivery.status = 'pending' AND workflow_started_at IS NULL
      AND next_start_at < now() - make_interval(mins => :minutes) AND timeouts = 0 AND paused_until IS NULL
      AND NOT EXISTS (SELECT 1 FROM deliveries AS other
        WHERE other.account_id = delivery.account_id AND other.under_way_until > now())
    ORDER BY delivery.id`,
    { minutes: OVERDUE_MINUTES },
  );
  yield* rows;
}

async function* findOpenWorkflowsOfUnknownDeliveries({ database, workflows }: Sources): AsyncIterable<Discrepancy> {
  for await (const deliveryIds of toBatches(workflows.listOpen('webhookDelivery'), PAGE_SIZE)) {
    for (const id of await findUnknownDeliveries(database, deliveryIds)) {
      yield { subject: id, detail: 'there is no such delivery, but its workflow is open' };
    }
  }
}

async function* findOpenWorkflowsOfFinalTasks({ database, workflows }: Sources): AsyncIterable<Discrepancy> {
  for await (const taskIds of toBatches(workflows.listOpen('mediaTask'), PAGE_SIZE)) {
    const { rows } = await database.raw<{ rows: { id: string; status: string | null }[] }>(
      /* sql */ `
      SELECT open.id, tasks.status FROM unnest(:taskIds::text[]) AS open(id)
      LEFT JOIN tasks ON tasks.id = open.id AND tasks.created_at = id_created_at(open.id)
      WHERE tasks.id IS NULL OR completed_at < now() - make_interval(mins => :minutes) ORDER BY open.id`,
      { taskIds: [...taskIds], minutes: GRACE_MINUTES },
    );
    for (const { id, status } of rows) {
      if (!(await workflows.isOpen(id))) continue;
      yield {
        subject: id,
        detail: status ? `the task is ${status}, but its workflow is open` : 'there is no such task',
      };
    }
  }
}

async function* findRunningTasksWithoutWorkflow({ database, workflows }: Sources): AsyncIterable<Discrepancy> {
  const rows = await database<{ id: string; status: string; workflow_started_at: Date | null }>('tasks')
    .whereIn('status', ['queued', 'processing'])
    .whereNotNull('workflow_started_at')
    .orderBy('id')
    .select('id');
  for (const { id } of rows) {
    if (await workflows.isOpen(id)) continue;
    // The task may have ended during the check.
    const task = await database<{ id: string; status: string }>('tasks').where({ id }).first('status');
    if (task?.status === 'queued' || task?.status === 'processing') {
      yield { subject: id, detail: `the task is ${task.status}, but its workflow is closed or missing` };
    }
  }
}

/** Checks that the processes and workflows did their work, and no more. */
import { setTimeout as sleep } from 'node:timers/promises';
import { OPEN_WORKFLOWS } from '../quiet.ts';
import type { Member } from '../../stack/member.ts';
import { type Check, type CheckResult, type Evidence, temporalOutages } from './check.ts';

/** Temporal's lists lag behind. */
const VISIBLE_AFTER_MS = 20_000;

/** Temporal exits when its other nodes or its database do not answer, and a worker when it starts without Temporal. */
async function checkProcesses(evidence: Evidence): Promise<CheckResult> {
  const outages = temporalOutages(evidence);
  const mayEnd = ({ role }: Member, atMs: number): boolean =>
    role === 'temporal' ||
    (role === 'worker' && outages.some(({ fromMs, untilMs }) => fromMs < atMs && atMs < untilMs));
  return {
    promise: 'every process was up again in the end, and none of Genway ended unless it was killed',
    failures: evidence.stack.members.flatMap((member) => {
      const ends = member.unexpectedEnds.filter((atMs) => !mayEnd(member, atMs)).length;
      return [
        ...(member.isUp() ? [] : [`${member.name} is down`]),
        ...(ends === 0 ? [] : [`${member.name} ended by itself, ${ends} times`]),
      ];
    }),
  };
}

async function checkOpenWorkflows({ temporal }: Evidence): Promise<CheckResult> {
  const deadline = performance.now() + VISIBLE_AFTER_MS;
  let open = await listWorkflows(temporal, OPEN_WORKFLOWS);
  while (open.length > 0 && performance.now() < deadline) {
    await sleep(1_000);
    open = await listWorkflows(temporal, OPEN_WORKFLOWS);
  }
  return { promise: 'no workflow is open', failures: open.map(({ problem }) => problem) };
}

async function checkFailedWorkflows({ temporal, database, forgotten }: Evidence): Promise<CheckResult> {
  const failed = await listWorkflows(temporal, `ExecutionStatus NOT IN ('Running', 'Completed')`);
  const ids = failed.map(({ id }) => id);
  const { rows } = await database.raw<{ rows: { id: string }[] }>(
    'SELECT id FROM tasks WHERE id = ANY (:ids) UNION ALL SELECT id FROM deliveries WHERE id = ANY (:ids)',
    { ids },
  );
  const known = new Set(rows.map(({ id }) => id));
  return {
    promise: 'no workflow failed, but those of rows that a restore has lost',
    failures: failed.filter(({ id }) => forgotten.length === 0 || known.has(id)).map(({ problem }) => problem),
  };
}

interface FoundWorkflow {
  readonly id: string;
  readonly problem: string;
}

async function listWorkflows(temporal: Evidence['temporal'], query: string): Promise<FoundWorkflow[]> {
  const found: FoundWorkflow[] = [];
  for await (const { workflowId: id, type, status } of temporal.workflow.list({ query })) {
    found.push({ id, problem: `${type} ${id} is ${status.name}` });
  }
  return found;
}

export const PROCESS_CHECKS: readonly Check[] = [checkProcesses, checkOpenWorkflows, checkFailedWorkflows];

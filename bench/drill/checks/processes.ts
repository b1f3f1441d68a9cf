/** Did the processes and workflows do what they should, and no more? */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, CheckResult, Evidence } from './check.ts';

/** Temporal's lists follow what happens with some delay. */
const VISIBLE_AFTER_MS = 20_000;

async function checkProcesses({ stack }: Evidence): Promise<CheckResult> {
  return {
    promise: 'every process was up again in the end, and none ended unless it was killed',
    failures: stack.members.flatMap((member) => [
      ...(member.isUp() ? [] : [`${member.name} is down`]),
      ...(member.unexpectedEnds() === 0 ? [] : [`${member.name} ended by itself, ${member.unexpectedEnds()} times`]),
    ]),
  };
}

async function checkOpenWorkflows({ temporal }: Evidence): Promise<CheckResult> {
  const query = `ExecutionStatus = 'Running' AND WorkflowType IN ('mediaTask', 'webhookDelivery')`;
  const deadline = performance.now() + VISIBLE_AFTER_MS;
  let open = await listWorkflows(temporal, query);
  while (open.length > 0 && performance.now() < deadline) {
    await sleep(1_000);
    open = await listWorkflows(temporal, query);
  }
  return { promise: 'no workflow is open', failures: open };
}

async function checkFailedWorkflows({ temporal }: Evidence): Promise<CheckResult> {
  return {
    promise: 'no workflow failed',
    failures: await listWorkflows(temporal, `ExecutionStatus NOT IN ('Running', 'Completed')`),
  };
}

async function listWorkflows(temporal: Evidence['temporal'], query: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { workflowId, type, status } of temporal.workflow.list({ query })) {
    found.push(`${type} ${workflowId} is ${status.name}`);
  }
  return found;
}

export const PROCESS_CHECKS: readonly Check[] = [checkProcesses, checkOpenWorkflows, checkFailedWorkflows];

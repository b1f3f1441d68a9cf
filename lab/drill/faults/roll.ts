/** A deployment: every process of Genway is replaced under load, and the workers by those of a new build. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { withTemporal } from '../../../bin/stack/with-temporal.ts';
import { WORKER_DEPLOYMENT } from '../../../domain/task-queues.ts';
import type { Member, Role } from '../../stack/member.ts';
import type { Random } from '../random.ts';
import { DRAIN_MS, type FaultKind, membersOf, seconds, type Stage, strikeOne } from './fault.ts';

const NAMESPACE = 'default';
export const FIRST_BUILD = 'build-1';
/** In the order of a deployment. */
const RESTARTED: readonly Role[] = ['api', 'text'];
/** Other faults may hit Temporal meanwhile. */
const CURRENT_WITHIN_MS = 600_000;
/** A task ends by its deadline; storing a result may take longer. */
const DRAINED_WITHIN_MS = 600_000;
const PAUSE_MS = 2_000;
/** Temporal's lists lag behind. */
const VISIBLE_AFTER_MS = 10_000;

export const ROLL: FaultKind = {
  meaning: 'every api and text process is drained and started again, and the workers give way to those of a new build',
  only: 'cluster',
  isOnce: true,
  leastMs: 0,
  mostMs: 0,
  strike: async (stage, random) => {
    const beganAt = performance.now();
    for (const member of RESTARTED.flatMap((role) => membersOf(stage, role)())) {
      await strikeOneOf(stage, random, member, () => member.interrupt({ by: 'stop', drainMs: DRAIN_MS }));
    }
    const build = await replaceWorkers(stage, random);
    return `rolled every process in ${seconds(performance.now() - beganAt)}; the workers are of ${build}`;
  },
};

/**
 * Deploys by docs/deployment.md, "Deploying with running tasks": starts workers of a new build beside the others, makes
 * the build current, and stops the others once they have no task left.
 *
 * @returns the new build
 */
async function replaceWorkers(stage: Stage, random: Random): Promise<string> {
  const former = membersOf(stage, 'worker')();
  const build = `build-${Date.now()}`;
  // A worker that finds no Temporal when it starts exits, and is restarted, as by any supervisor.
  const join = () => stage.join('worker', { settings: { GENWAY_WORKER_BUILD_ID: build } });
  await Promise.all(former.map(() => waitUntil(join, { timeoutMs: DRAINED_WITHIN_MS, pauseMs: PAUSE_MS })));
  await makeCurrent(stage.temporalAddress, build);
  await sleep(VISIBLE_AFTER_MS);
  await waitUntil(() => expectNoTaskOfOthers(stage.temporalAddress, build), {
    timeoutMs: DRAINED_WITHIN_MS,
    pauseMs: PAUSE_MS,
  });
  for (const worker of former) await strikeOneOf(stage, random, worker, () => stage.leave(worker));
  return build;
}

/** Acts on a member once it is healthy and no other fault hits it. */
async function strikeOneOf(stage: Stage, random: Random, member: Member, act: () => Promise<unknown>): Promise<void> {
  await strikeOne(
    stage,
    random,
    () => [member],
    async ({ name }) => {
      await act();
      return name;
    },
  );
}

/** Lets new workflows start with the workers of a build, as `temporal worker deployment set-current-version` does. */
export async function makeCurrent(address: string, buildId: string): Promise<void> {
  await waitUntil(
    () =>
      callTemporal(address, ({ workflowService }) =>
        workflowService.setWorkerDeploymentCurrentVersion({
          namespace: NAMESPACE,
          deploymentName: WORKER_DEPLOYMENT,
          buildId,
          identity: 'drill',
        }),
      ),
    { timeoutMs: CURRENT_WITHIN_MS, pauseMs: PAUSE_MS },
  );
}

async function expectNoTaskOfOthers(address: string, build: string): Promise<void> {
  const query =
    `WorkflowType = 'mediaTask' AND ExecutionStatus = 'Running' ` +
    `AND TemporalWorkerDeploymentVersion != '${WORKER_DEPLOYMENT}:${build}'`;
  const { count } = await callTemporal(address, ({ workflowService }) =>
    workflowService.countWorkflowExecutions({ namespace: NAMESPACE, query }),
  );
  if (Number(count) > 0) throw new Error(`${String(count)} tasks run on workers of earlier builds`);
}

function callTemporal<Result>(address: string, call: (connection: Connection) => Promise<Result>): Promise<Result> {
  return withTemporal(address, (connection) => connection.withDeadline(Date.now() + 10_000, () => call(connection)), {
    connectTimeout: '5s',
  });
}

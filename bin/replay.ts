/**
 * Replays the histories of workflows through the workflow code of this checkout, to check that the code still makes
 * every recorded decision. Otherwise a worker could neither continue nor query such a workflow.
 */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { DefaultLogger, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { OperatorError } from '../domain/operator-error.ts';
import { IGNORED_WORKFLOW_SPANS } from '../telemetry/tracing.ts';
import { bundleWorkflows } from './parts/workflow-bundle.ts';

/** The result of replaying one history. */
export interface Replay {
  readonly workflowId: string;
  readonly workflowType: string;
  readonly events: number;
  /** The decision that the workflow code would make differently; null if there is none. */
  readonly difference: string | null;
}

export type WorkflowCode = NonNullable<WorkerOptions['workflowBundle']>;

/**
 * Replays a history that was saved as JSON by `npm run histories` or `temporal workflow show --output json`, or
 * downloaded from the Temporal UI without decoding its payloads.
 *
 * @param code the workflow code; by default, the code of this checkout
 * @throws OperatorError if the file does not contain such a history
 */
export async function replayHistoryFile(path: string, code?: WorkflowCode): Promise<Replay> {
  const history = parseHistory(basename(path), await readHistory(path));
  for await (const replay of replayHistories([history], code ?? (await bundleWorkflows(new DefaultLogger('ERROR')))))
    return replay;
  throw new Error(`${path} was not replayed`);
}

function readHistory(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: Error) => {
    throw new OperatorError(`The history cannot be read: ${error.message}.`);
  });
}

export interface SavedHistory {
  readonly workflowId: string;
  readonly workflowType: string;
  readonly history: ReturnType<typeof historyFromJSON>;
}

/**
 * Reads a history from its JSON.
 *
 * @param name identifies the text in errors, and is the workflow's id if the history does not contain one
 * @throws OperatorError if the text is not the history of a workflow
 */
export function parseHistory(name: string, text: string): SavedHistory {
  try {
    const history = historyFromJSON(JSON.parse(text));
    const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    const workflowType = started?.workflowType?.name;
    if (!workflowType) throw new Error('its first event does not start a workflow');
    return { workflowId: started.workflowId || name, workflowType, history };
  } catch (cause) {
    throw new OperatorError(
      `${name} is not the history of a workflow. Save one with: temporal workflow show --workflow-id ID --output json`,
      { cause },
    );
  }
}

/** Replays histories one after another through the same workflow code. */
export async function* replayHistories(histories: readonly SavedHistory[], code: WorkflowCode): AsyncGenerator<Replay> {
  installQuietRuntime();
  let index = 0;
  for await (const { error } of Worker.runReplayHistories(
    { workflowBundle: code, sinks: IGNORED_WORKFLOW_SPANS },
    histories,
  )) {
    const saved = histories[index++];
    if (!saved) throw new Error('there is one result for each history');
    const { workflowId, workflowType, history } = saved;
    yield { workflowId, workflowType, events: history.events?.length ?? 0, difference: error?.message ?? null };
  }
}

let isInstalled = false;

/** Suppresses the SDK's logs about differences, which the result contains. */
export function installQuietRuntime(): void {
  if (isInstalled) return;
  isInstalled = true;
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } },
  });
}

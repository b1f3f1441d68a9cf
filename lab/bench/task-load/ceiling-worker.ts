/** A worker for the bare workflow, with the settings of the real one. Arguments: address, namespace, task queue. */
import { join } from 'node:path';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';

const [address = '', namespace = '', taskQueue = ''] = process.argv.slice(2);
Runtime.install({ shutdownSignals: [] });
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue,
  workflowsPath: join(import.meta.dirname, 'ceiling-workflow.js'),
  activities: { nothing: async () => undefined },
  maxConcurrentActivityTaskExecutions: 2_000,
  maxConcurrentWorkflowTaskExecutions: 100,
});
process.on('SIGTERM', () => worker.shutdown());
await worker.run();
await connection.close();

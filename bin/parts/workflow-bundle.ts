/** The workflows, and what goes with each of them, as one piece of code for the sandbox in which workers run them. */
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type BundleOptions, type WorkflowBundleWithSourceMap } from '@temporalio/worker';

/** The workflows are compiled when this file is. */
const extension = extname(import.meta.url);
const inWorkflows = (name: string): string =>
  fileURLToPath(new URL(`../../workflows/${name}${extension}`, import.meta.url));

/** Takes some seconds; in production it is done once, at build time. */
export function bundleWorkflows(logger?: BundleOptions['logger']): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath: inWorkflows('index'),
    workflowInterceptorModules: [inWorkflows('tracing')],
    ...(logger && { logger }),
  });
}

/** Bundles the workflows and their interceptors for the sandbox in which workers run them. */
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type BundleOptions, type WorkflowBundleWithSourceMap } from '@temporalio/worker';

/** The extension of the workflows, which are compiled if this file is. */
const extension = extname(import.meta.url);
const inWorkflows = (name: string): string =>
  fileURLToPath(new URL(`../../workflows/${name}${extension}`, import.meta.url));

/** Bundles in a few seconds; for production, the build does so once. */
export function bundleWorkflows(logger?: BundleOptions['logger']): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath: inWorkflows('index'),
    workflowInterceptorModules: [inWorkflows('tracing')],
    ...(logger && { logger }),
  });
}

/**
 * The text program, which serves everything under `{text_base_url}`: one text process, or several behind one port and a
 * primary that supervises them.
 */
import cluster from 'node:cluster';
import { loadConfig } from '../config.ts';
import { printFatalErrors } from './parts/process.ts';

printFatalErrors();
const config = loadConfig();
// The primary does not load the code that serves requests.
if (config.text.processes > 1 && cluster.isPrimary) {
  const { superviseTextProcesses } = await import('./parts/text-primary.ts');
  await superviseTextProcesses(config);
} else {
  const { serveText } = await import('./parts/text-process.ts');
  await serveText(config);
}

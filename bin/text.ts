/**
 * The text program, which serves everything under `{text_base_url}`: one text process, or several behind one port and a
 * primary that supervises them.
 */
import cluster from 'node:cluster';
import { loadConfig } from '../config.ts';
import { processesFor, readAvailableCores } from './parts/available-cores.ts';
import { createLog, printFatalErrors } from './parts/process.ts';

printFatalErrors();
const config = loadConfig();
const available = readAvailableCores();
const processes = config.text.processes === 'auto' ? processesFor(available) : config.text.processes;
if (config.text.processes === 'auto' && cluster.isPrimary) {
  createLog('text', config).info({ processes, ...available }, 'chose the number of text processes');
}
// The primary does not load the code that serves requests.
if (processes > 1 && cluster.isPrimary) {
  const { superviseTextProcesses } = await import('./parts/text-primary.ts');
  await superviseTextProcesses(config, processes);
} else {
  const { runTextProcess } = await import('./parts/text-process.ts');
  await runTextProcess(config);
}

/** `genway config check`: everything that is wrong in the operator's files. */
import { type Finding, writeFindings } from '../../catalogue/operator-file.ts';
import type { FilesConfig } from '../../config.ts';
import { knownUpstreams } from '../../providers/check-routes.ts';
import { checkFiles, configuredPaths, type FilePaths, sortPaths } from '../parts/operator-files.ts';
import { upstreamsOf } from '../parts/providers.ts';
import { type ConfigTerminal, EXIT_CODES } from './config-terminal.ts';

/** @returns the exit code */
export function checkConfig(config: FilesConfig, files: readonly string[], terminal: ConfigTerminal): number {
  const paths = pathsFor(config, files);
  const standIn = files.length === 0 && paths.upstreams === null ? knownUpstreams(upstreamsOf(config)) : null;
  const { findings } = checkFiles(paths, standIn);
  const areCompared = paths.catalogue !== null && (paths.upstreams !== null || standIn !== null);
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (terminal.isJson()) terminal.print(JSON.stringify({ data: findings }, null, 2));
  else terminal.print([...writeFindings(findings), summary(paths, findings, areCompared)].join('\n'));
  return errors.length > 0 ? EXIT_CODES.wrong : EXIT_CODES.right;
}

/** Files that are named stand alone, but for those that the environment names. */
export function pathsFor(config: FilesConfig, files: readonly string[]): FilePaths {
  const configured = configuredPaths(config);
  if (files.length === 0) return configured;
  return sortPaths(files, { catalogue: config.catalogueFile ?? null, upstreams: configured.upstreams });
}

function summary({ catalogue, upstreams }: FilePaths, findings: readonly Finding[], areCompared: boolean): string {
  const names = [catalogue, upstreams].filter((name) => name !== null).join(' and ');
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const result =
    findings.length === 0
      ? `Nothing is wrong in ${names}.`
      : `${count(errors, 'mistake')} and ${count(findings.length - errors, 'warning')} in ${names}.`;
  return areCompared ? result : `${result} Routes and upstreams were not compared: name both files.`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** `genway config`: the operator's files, checked before a process takes them up. */
import type { Command } from 'commander';
import { type Finding, writeFindings } from '../../catalogue/operator-file.ts';
import type { FilesConfig } from '../../config.ts';
import { knownUpstreams } from '../../providers/check-routes.ts';
import { checkFiles, configuredPaths, type FilePaths, sortPaths } from '../parts/operator-files.ts';
import { upstreamsOf } from '../parts/providers.ts';

export interface ConfigTerminal {
  readonly print: (text: string) => void;
  readonly isJson: () => boolean;
  /** Sets the code with which the command will end. */
  readonly endWith: (exitCode: number) => void;
}

/** Of `genway config check`. */
export const EXIT_CODES = { right: 0, wrong: 1, unreachable: 2 } as const;

/** @param load is called when a command runs, so that `--help` needs no configuration */
export function addConfigCommands(program: Command, load: () => FilesConfig, terminal: ConfigTerminal): void {
  const config = program.command('config').description('the catalogue and the file of upstreams');
  config
    .command('check [files...]')
    .description('say everything that is wrong in them (default: those of GENWAY_CATALOGUE and GENWAY_PROVIDERS)')
    .action((files: string[]) => {
      terminal.endWith(check(load(), files, terminal));
    });
}

/** @returns the exit code */
function check(config: FilesConfig, files: readonly string[], terminal: ConfigTerminal): number {
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
function pathsFor(config: FilesConfig, files: readonly string[]): FilePaths {
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

/** Reads and checks the operator's two files together: the catalogue and the file of upstreams. */
import type { Logger } from 'pino';
import { findPricesBelowCost } from '../../catalogue/below-cost.ts';
import { checkCatalogue, DEFAULT_CATALOGUE } from '../../catalogue/load.ts';
import { type Finding, readOperatorFile, sortFindings, writeFindings } from '../../catalogue/operator-file.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import { type FilesConfig, readVariable } from '../../config.ts';
import { isObject } from '../../domain/json.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import {
  checkRoutes,
  type KnownUpstreams,
  knownUpstreams,
  readUncheckedUpstreams,
} from '../../providers/check-routes.ts';
import { checkUpstreams, type Upstreams } from '../../providers/upstreams.ts';
import { simulatedUpstreams } from './providers.ts';

/** The paths of the files; null for a file that is left out. */
export interface FilePaths {
  readonly catalogue: string | null;
  readonly upstreams: string | null;
}

export interface CheckedFiles {
  /** Null if it is invalid or left out. */
  readonly catalogue: Catalogue | null;
  readonly upstreams: Upstreams | null;
  /** In the order of the files and their lines. */
  readonly findings: readonly Finding[];
}

/**
 * Finds all mistakes in each file, and between the files.
 *
 * @param standIn the upstreams if there is no file of upstreams; null to leave routes unchecked
 */
export function checkFiles(paths: FilePaths, standIn: KnownUpstreams | null): CheckedFiles {
  const files = {
    catalogue: paths.catalogue === null ? null : readOperatorFile(paths.catalogue, readVariable),
    upstreams: paths.upstreams === null ? null : readOperatorFile(paths.upstreams, readVariable),
  };
  const catalogue = files.catalogue && checkCatalogue(files.catalogue);
  const upstreams = files.upstreams && checkUpstreams(files.upstreams);
  const known = files.upstreams ? readUncheckedUpstreams(files.upstreams.document) : standIn;
  const losses = files.catalogue && catalogue?.value ? findPricesBelowCost(files.catalogue, catalogue.value) : [];
  const routes = files.catalogue && known ? checkRoutes(files.catalogue, known, catalogue?.value ?? null) : [];
  return {
    catalogue: catalogue?.value ?? null,
    upstreams: upstreams?.value ?? null,
    findings: sortFindings([...(catalogue?.findings ?? []), ...routes, ...losses, ...(upstreams?.findings ?? [])]),
  };
}

/**
 * Recognises the files by their content: in a file of upstreams, `media` and `text` are lists.
 *
 * @param others used for a file that `paths` lacks
 * @throws OperatorError if two files are of the same kind
 */
export function sortPaths(paths: readonly string[], others: FilePaths): FilePaths {
  const [upstreams, secondUpstreams] = paths.filter(isUpstreams);
  const [catalogue, secondCatalogue] = paths.filter((path) => !isUpstreams(path));
  if (secondUpstreams !== undefined)
    throw new OperatorError(`${upstreams} and ${secondUpstreams} are both files of upstreams: name one of them.`);
  if (secondCatalogue !== undefined)
    throw new OperatorError(`${catalogue} and ${secondCatalogue} are both catalogues: name one of them.`);
  return { catalogue: catalogue ?? others.catalogue, upstreams: upstreams ?? others.upstreams };
}

function isUpstreams(path: string): boolean {
  const { written } = readOperatorFile(path, readVariable);
  return isObject(written) && [written['media'], written['text']].some((part) => Array.isArray(part));
}

/** The files that the environment of a process names. */
export function configuredPaths({ catalogueFile, providers }: FilesConfig): FilePaths {
  return { catalogue: catalogueFile ?? DEFAULT_CATALOGUE, upstreams: providers.routesFile ?? null };
}

/** The operator's files that a process uses. */
export interface OperatorFiles {
  readonly catalogue: Catalogue;
  readonly upstreams: Upstreams;
}

/** Reads the files of a process. @throws OperatorError with all mistakes in them */
export function loadFiles(config: FilesConfig, log: Pick<Logger, 'warn'>): OperatorFiles {
  const paths = configuredPaths(config);
  const standIn = paths.upstreams === null ? simulatedUpstreams(config) : null;
  const { findings, ...files } = checkFiles(paths, standIn && knownUpstreams(standIn));
  const { catalogue } = files;
  const upstreams = files.upstreams ?? standIn;
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (catalogue === null || upstreams === null || errors.length > 0) {
    const hint = config.providers.routesFile
      ? ''
      : ' (the upstreams are the simulator’s, as GENWAY_PROVIDERS is not set)';
    throw new OperatorError([`The configuration files are wrong${hint}:`, ...writeFindings(errors)].join('\n  '));
  }
  for (const finding of findings) log.warn(writeFindings([finding])[0]);
  const { media, text } = upstreams;
  if (media.length === 0) log.warn('no media upstream is configured: tasks will fail');
  if (text.length === 0) log.warn('no text upstream is configured: text requests will get 503');
  return { catalogue, upstreams };
}

/** Reads and checks the operator's files together: the catalogue, the file of upstreams, and the file about the site. */
import type { Logger } from 'pino';
import { findPricesBelowCost } from '../../catalogue/below-cost.ts';
import { checkCatalogue, DEFAULT_CATALOGUE } from '../../catalogue/load.ts';
import {
  type Finding,
  type OperatorFile,
  readOperatorFile,
  sortFindings,
  writeFindings,
} from '../../catalogue/operator-file.ts';
import { checkPlans } from '../../catalogue/check-plans.ts';
import { checkSite, isSiteFile, OWN_SITE, type Site } from '../../catalogue/site.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import type { FilesConfig } from '../../config.ts';
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
  readonly site: string | null;
}

export interface CheckedFiles {
  /** Null if it is invalid or left out. */
  readonly catalogue: Catalogue | null;
  readonly upstreams: Upstreams | null;
  readonly site: Site | null;
  /** In the order of the files and their lines. */
  readonly findings: readonly Finding[];
}

/**
 * Finds all mistakes in each file, and between the files.
 *
 * @param standIn the upstreams if there is no file of upstreams; null to leave routes unchecked
 */
export function checkFiles(
  { readVariable }: Pick<FilesConfig, 'readVariable'>,
  paths: FilePaths,
  standIn: KnownUpstreams | null,
): CheckedFiles {
  const files = {
    catalogue: paths.catalogue === null ? null : readOperatorFile(paths.catalogue, readVariable),
    upstreams: paths.upstreams === null ? null : readOperatorFile(paths.upstreams, readVariable),
    site: paths.site === null ? null : readOperatorFile(paths.site, readVariable),
  };
  const catalogue = files.catalogue && checkCatalogue(files.catalogue);
  const upstreams = files.upstreams && checkUpstreams(files.upstreams);
  const site = files.site && checkSite(files.site);
  const known = files.upstreams ? readUncheckedUpstreams(files.upstreams.document) : standIn;
  const losses = files.catalogue && catalogue?.value ? findPricesBelowCost(files.catalogue, catalogue.value) : [];
  const routes = files.catalogue && known ? checkRoutes(files.catalogue, known, catalogue?.value ?? null) : [];
  return {
    catalogue: catalogue?.value ?? null,
    upstreams: upstreams?.value ?? null,
    site: site?.value ?? null,
    findings: sortFindings([
      ...(catalogue?.findings ?? []),
      ...routes,
      ...losses,
      ...(upstreams?.findings ?? []),
      ...(site?.findings ?? []),
      ...(files.site && site?.value && catalogue?.value ? checkPlans(files.site, site.value, catalogue.value) : []),
    ]),
  };
}

/**
 * Recognises the files by their content: in a file of upstreams, `media` and `text` are lists; a site has a name.
 *
 * @param others used for a file that `paths` lacks
 * @throws OperatorError if two files are of the same kind
 */
export function sortPaths(
  { readVariable }: Pick<FilesConfig, 'readVariable'>,
  paths: readonly string[],
  others: FilePaths,
): FilePaths {
  const named: { -readonly [Kind in keyof FilePaths]: string | null } = {
    catalogue: null,
    upstreams: null,
    site: null,
  };
  for (const path of paths) {
    const kind = kindOf(readOperatorFile(path, readVariable));
    if (named[kind] !== null)
      throw new OperatorError(`${named[kind]} and ${path} are both ${FILE_KINDS[kind]}: name one of them.`);
    named[kind] = path;
  }
  return {
    catalogue: named.catalogue ?? others.catalogue,
    upstreams: named.upstreams ?? others.upstreams,
    site: named.site ?? others.site,
  };
}

const FILE_KINDS: Readonly<Record<keyof FilePaths, string>> = {
  catalogue: 'catalogues',
  upstreams: 'files of upstreams',
  site: 'files about the site',
};

function kindOf(file: OperatorFile): keyof FilePaths {
  if (hasUpstreams(file)) return 'upstreams';
  return isSiteFile(file) ? 'site' : 'catalogue';
}

function hasUpstreams({ written }: OperatorFile): boolean {
  return isObject(written) && [written['media'], written['text']].some((part) => Array.isArray(part));
}

/** The files that the environment of a process names. */
export function configuredPaths({ catalogueFile, providers, siteFile }: FilesConfig): FilePaths {
  return {
    catalogue: catalogueFile ?? DEFAULT_CATALOGUE,
    upstreams: providers.routesFile ?? null,
    site: siteFile ?? null,
  };
}

/** The operator's files that a process uses. */
export interface OperatorFiles {
  readonly catalogue: Catalogue;
  readonly upstreams: Upstreams;
  readonly site: Site;
}

/** Reads the files of a process. @throws OperatorError with all mistakes in them */
export function loadFiles(config: FilesConfig, log: Pick<Logger, 'warn'>): OperatorFiles {
  const paths = configuredPaths(config);
  const standIn = paths.upstreams === null ? simulatedUpstreams(config) : null;
  const { findings, ...files } = checkFiles(config, paths, standIn && knownUpstreams(standIn));
  const { catalogue } = files;
  const upstreams = files.upstreams ?? standIn;
  const site = paths.site === null ? OWN_SITE : files.site;
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (catalogue === null || upstreams === null || site === null || errors.length > 0) {
    const hint = config.providers.routesFile
      ? ''
      : ' (the upstreams are the simulator’s, as GENWAY_PROVIDERS is not set)';
    throw new OperatorError([`The configuration files are wrong${hint}:`, ...writeFindings(errors)].join('\n  '));
  }
  for (const finding of findings) log.warn(writeFindings([finding])[0]);
  const { media, text } = upstreams;
  if (media.length === 0) log.warn('no media upstream is configured: tasks will fail');
  if (text.length === 0) log.warn('no text upstream is configured: text requests will get 503');
  return { catalogue, upstreams, site };
}

/** `genway config check`: reports all mistakes in the operator's files. */
import Joi from 'joi';
import { describeLoss, soldBelowCost } from '../../catalogue/below-cost.ts';
import { type Finding, writeFindings } from '../../catalogue/operator-file.ts';
import type { FilesConfig } from '../../config.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { PriceList, type PriceRules } from '../../domain/price-list.ts';
import { UPSTREAM_FORMAT_NAMES, type UpstreamFormatName } from '../../domain/wire-format-name.ts';
import { knownUpstreams } from '../../providers/check-routes.ts';
import { type RetiredModel, type Probe, probeUpstreams } from '../../providers/probe.ts';
import { AUTH_KEY } from '../../providers/credentials/settings.ts';
import type { Upstreams } from '../../providers/upstreams.ts';
import { checkFiles, configuredPaths, type FilePaths, sortPaths } from '../parts/operator-files.ts';
import { simulatedUpstreams } from '../parts/providers.ts';
import { type AdminClient, CommandError } from './admin-client.ts';
import { type ConfigTerminal, EXIT_CODES } from './config-terminal.ts';
import { dataOf, rowsOf, textOf } from './print.ts';

const PROBE_TIMEOUT_MS = 10_000;

const listSchema = Joi.object<PriceRules & { readonly id: string }>({
  id: Joi.string().required(),
  factor: Joi.string().required(),
  batchFactor: Joi.string().allow(null),
  rules: Joi.array().required(),
})
  .rename('batch_factor', 'batchFactor')
  .unknown();

interface CheckOptions {
  /** Whether to probe the upstreams as well, and to check the price lists of customers. */
  readonly online: boolean;
}

interface ConfigSurroundings {
  readonly terminal: ConfigTerminal;
  readonly connect: () => Promise<AdminClient>;
}

/** @returns the exit code; `wrong` takes precedence over `unreachable` */
export async function checkConfig(
  config: FilesConfig,
  files: readonly string[],
  { online, terminal, connect }: CheckOptions & ConfigSurroundings,
): Promise<number> {
  const paths = pathsFor(config, files);
  const simulated = files.length === 0 && paths.upstreams === null ? simulatedUpstreams(config) : null;
  const { catalogue, upstreams, findings } = checkFiles(config, paths, simulated && knownUpstreams(simulated));
  const areCompared = paths.catalogue !== null && (paths.upstreams !== null || simulated !== null);
  const reachable = upstreams ?? simulated;
  const probes = online && reachable ? await probe(reachable, catalogue) : [];
  const lists = online && catalogue ? await checkPriceLists(catalogue, connect) : [];
  if (terminal.isJson())
    terminal.print(
      JSON.stringify({ data: findings, ...(online && { upstreams: probes, price_lists: lists }) }, null, 2),
    );
  else {
    const answers = probes.flatMap((one) => [describeProbe(one), ...one.retiredModels.map(describeRetired(one))]);
    if (online && !reachable)
      answers.push('No upstream was checked: first correct the file of upstreams, or name one.');
    terminal.print(
      [...writeFindings(findings), summary(paths, findings, areCompared), ...lists, ...answers].join('\n'),
    );
  }
  if (findings.some(({ severity }) => severity === 'error')) return EXIT_CODES.wrong;
  return probes.some(isBad) ? EXIT_CODES.unreachable : EXIT_CODES.right;
}

/** Finds prices in the price lists of a running Genway that are below the costs of this catalogue. */
async function checkPriceLists(catalogue: Catalogue, connect: () => Promise<AdminClient>): Promise<readonly string[]> {
  try {
    const admin = await connect();
    const lines: string[] = [];
    for (const { name } of rowsOf(await admin.call('GET', '/price-lists'))) {
      const shown = await admin.call('GET', `/price-lists/${encodeURIComponent(textOf(name))}`);
      const { value, error } = listSchema.validate(dataOf(shown));
      if (error) throw new CommandError(`The price list ${textOf(name)} cannot be read: ${error.message}`);
      lines.push(...soldBelowCost(catalogue, new PriceList(value)).map((loss) => `${value.id}: ${describeLoss(loss)}`));
    }
    return lines;
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return [`The price lists of customers were not checked: ${error.message}`];
  }
}

/** Probes text upstreams in the formats of their routes; without routes, in the first format that has an address. */
function probe(upstreams: Upstreams, catalogue: Catalogue | null): Promise<readonly Probe[]> {
  const routes = [...(catalogue?.textModels.values() ?? [])].flatMap((model) => model.routes);
  const firstFormats = new Map(
    upstreams.text.map(({ name, baseUrls }) => [
      name,
      UPSTREAM_FORMAT_NAMES.filter((format) => format in baseUrls).slice(0, 1),
    ]),
  );
  const formatsOf = (upstream: string): readonly UpstreamFormatName[] => {
    const asked = routes.filter(({ provider }) => provider === upstream).map(({ format }) => format);
    return asked.length === 0 ? (firstFormats.get(upstream) ?? []) : [...new Set(asked)];
  };
  const mediaRoutes = [...(catalogue?.videoModels.values() ?? []), ...(catalogue?.imageModels.values() ?? [])].flatMap(
    (model) => model.routes,
  );
  const modelsOf = (upstream: string): readonly string[] => {
    const named = mediaRoutes.filter(({ provider }) => provider === upstream);
    return [...new Set(named.flatMap(({ model, modelWithImages = model }) => [model, modelWithImages]))];
  };
  return probeUpstreams(upstreams, { formatsOf, modelsOf, timeoutMs: PROBE_TIMEOUT_MS });
}

const VERDICTS: Readonly<Record<Probe['verdict'], string>> = {
  accepted: 'answers, and accepts',
  unclear: 'answers, but does not show whether it accepts',
  refused: 'refuses',
  unreachable: 'cannot be reached with',
};

function describeProbe({ upstream, address, key, verdict, detail }: Probe): string {
  const credential = key === null ? `the credentials of "${AUTH_KEY}"` : `the key …${key}`;
  return `${upstream}: ${address} ${VERDICTS[verdict]} ${credential} (${detail})`;
}

function describeRetired({ upstream }: Probe) {
  return ({ model, retiredOn }: RetiredModel): string =>
    retiredOn === null
      ? `${upstream}: the vendor does not list the model ${model} of a route`
      : `${upstream}: the vendor retired the model ${model} of a route on ${retiredOn}`;
}

function isBad({ verdict, retiredModels }: Probe): boolean {
  return verdict === 'refused' || verdict === 'unreachable' || retiredModels.length > 0;
}

/** The files to check: the named ones, and for a missing one the file that the environment names, if any. */
export function pathsFor(config: FilesConfig, files: readonly string[]): FilePaths {
  const configured = configuredPaths(config);
  if (files.length === 0) return configured;
  return sortPaths(config, files, { ...configured, catalogue: config.catalogueFile ?? null });
}

function summary(
  { catalogue, upstreams, site }: FilePaths,
  findings: readonly Finding[],
  areCompared: boolean,
): string {
  const names = [catalogue, upstreams, site].filter((name) => name !== null).join(' and ');
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const result =
    findings.length === 0
      ? `No mistakes in ${names}.`
      : `${count(errors, 'mistake')} and ${count(findings.length - errors, 'warning')} in ${names}.`;
  return areCompared ? result : `${result} Routes and upstreams were not compared: name both files.`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

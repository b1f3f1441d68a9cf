/** `genway config diff`: reports what a catalogue would change in models and prices. */
import Joi from 'joi';
import {
  amountsChangedUnder,
  compareOffers,
  type Offer,
  type OfferChange,
  offerOf,
  type RecordedAmounts,
} from '../../catalogue/offer.ts';
import { writeFindings } from '../../catalogue/operator-file.ts';
import type { FilesConfig } from '../../config.ts';
import { checkFiles } from '../parts/operator-files.ts';
import { type AdminClient, CommandError } from './admin-client.ts';
import { pathsFor } from './config-check.ts';
import { type ConfigTerminal, EXIT_CODES } from './config-terminal.ts';
import { dataOf, table } from './print.ts';

interface CurrentOffer extends Offer {
  readonly recorded_prices: RecordedAmounts['prices'];
  readonly recorded_costs: RecordedAmounts['costs'];
}

const termsSchema = Joi.object().pattern(Joi.string(), Joi.string());
const costsSchema = Joi.object().pattern(Joi.string(), termsSchema);

const currentOfferSchema = Joi.object<CurrentOffer>({
  version: Joi.string().required(),
  models: Joi.array()
    .items(
      Joi.object({
        id: Joi.string().required(),
        kind: Joi.valid('video', 'image', 'text').required(),
        prices: termsSchema.required(),
        costs: costsSchema.required(),
        terms: termsSchema.required(),
      }).unknown(),
    )
    .required(),
  recorded_prices: Joi.object().pattern(Joi.string(), termsSchema).required(),
  recorded_costs: Joi.object().pattern(Joi.string(), costsSchema).required(),
}).unknown();

interface Surroundings {
  readonly connect: () => Promise<AdminClient>;
  readonly terminal: ConfigTerminal;
}

/** @returns the exit code: `wrong` if prices or costs would change without a new version of the catalogue */
export async function compareWithCurrent(
  config: FilesConfig,
  files: readonly string[],
  { connect, terminal }: Surroundings,
): Promise<number> {
  const offer = readOffer(config, files);
  const current = await readCurrentOffer(await connect(), offer.version);
  const changes = compareOffers(current, offer);
  const { recorded_prices: prices, recorded_costs: costs } = current;
  const refused = amountsChangedUnder({ prices, costs }, offer);
  if (terminal.isJson()) {
    const data = {
      from: current.version,
      to: offer.version,
      changes: changes.map(present),
      refused: refused.map(present),
    };
    terminal.print(JSON.stringify({ data }, null, 2));
  } else terminal.print(describe(current, offer, { changes, refused }));
  return refused.length > 0 ? EXIT_CODES.wrong : EXIT_CODES.right;
}

function readOffer(config: FilesConfig, files: readonly string[]): Offer {
  const { catalogue, findings } = checkFiles(config, pathsFor(config, files), null);
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new CommandError(['The files have mistakes:', ...writeFindings(errors)].join('\n  '));
  if (!catalogue) throw new CommandError('Name a catalogue, or set GENWAY_CATALOGUE.');
  return offerOf(catalogue);
}

async function readCurrentOffer(admin: AdminClient, version: string): Promise<CurrentOffer> {
  const answer = await admin.call('GET', `/catalogue?${new URLSearchParams({ version }).toString()}`);
  const { value, error } = currentOfferSchema.validate(dataOf(answer), { convert: false });
  if (error) throw new CommandError(`The answer is not a catalogue (${error.message}). Is Genway of the same version?`);
  return value;
}

interface Difference {
  readonly changes: readonly OfferChange[];
  readonly refused: readonly OfferChange[];
}

const COLUMNS = ['model', 'what', 'before', 'after', 'change'];

function describe(current: Offer, offer: Offer, { changes, refused }: Difference): string {
  const versions =
    current.version === offer.version ? offer.version : `${current.version} (in force) to ${offer.version}`;
  const lines =
    changes.length === 0
      ? [`Nothing changes: ${versions}.`]
      : [`What changes from ${versions}:`, table(changes.map(present), COLUMNS)];
  if (refused.length === 0) return lines.join('\n');
  const warning = `Refused: the version ${offer.version} has other prices or costs already. Give the catalogue a new version.`;
  return [...lines, warning, table(refused.map(present), COLUMNS)].join('\n');
}

function present({ model, what, before, after, amount }: OfferChange) {
  return { model, what, before, after, change: amount === null ? null : percentage(before, after) };
}

/** For example `+12.5 %`, from two decimals; null if one is missing, or the amount before is 0. */
function percentage(before: string | null, after: string | null): string | null {
  if (before === null || after === null || Number(before) === 0) return null;
  const percent = (Number(after) / Number(before) - 1) * 100;
  return `${percent > 0 ? '+' : ''}${Number(percent.toFixed(2))} %`;
}

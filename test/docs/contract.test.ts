import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { endpointsFor } from '../../api/endpoints.ts';
import { readRequest as readChat } from '../../text/chat-completions/request-shape.ts';
import { ignored, passedOn } from '../../text/fields.ts';
import { generationConfig, readRequest as readNative } from '../../text/generate-content/request-shape.ts';
import { readRequest as readMessages } from '../../text/messages/request-shape.ts';
import { readRequest as readResponses } from '../../text/responses/request-shape.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { ERRORS } from '../../domain/errors.ts';
import { type PicoUsd, parseUsd } from '../../domain/money.ts';

const root = join(import.meta.dirname, '../..');
const contract = readFileSync(join(root, 'docs/contract.md'), 'utf8');
const catalogue = loadCatalogue();

/** One section, or several: `contract 2.1`, `contract 2.4, 4.7 and 6`, `contract 4.1 to 4.3`. */
const CITATION = /\bcontract (\d[\d.]*\d|\d)((?:(?:, | and | to )\d(?:[\d.]*\d)?)*)/gi;
/** The older form, written so that this file does not contain it. */
const OLD_CITATION = /specification[ ]section/i;

/** Served beside the endpoints: pages to read. */
const NOT_IN_DESCRIPTION = ['GET /docs', 'GET /docs/administration'];

interface Source {
  readonly file: string;
  /** Its words, with line breaks and the marks of comments taken out. */
  readonly text: string;
}

/** Everything that people wrote, from the root on. */
function listFiles(): readonly string[] {
  const entries = readdirSync(root).filter((name) => !/^(\..*|node_modules|dist)$/.test(name));
  return entries.flatMap((name) =>
    statSync(join(root, name)).isDirectory()
      ? readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((file) => join(name, file))
      : [name],
  );
}

const sources: readonly Source[] = listFiles()
  .filter((file) => /\.(ts|mjs|md|ya?ml)$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8').replace(/\n\s*(?:\*|\/\/|#|--)?\s*/g, ' ') }));

function citedIn(text: string): readonly string[] {
  return [...text.matchAll(CITATION)].flatMap(([citation]) => citation.match(/\d(?:[\d.]*\d)?/g) ?? []);
}

/** The numbers of the headings: `## 3. Task states`, `### 4.2 POST /v1/videos/tasks`. */
const sections = new Set(Array.from(contract.matchAll(/^#{2,4} (\d[\d.]*?)\.? /gm), ([, number]) => number));

/** The text of a section, without its subsections. */
function textOf(section: string): string {
  const start = contract.search(new RegExp(`^#+ ${section.replaceAll('.', String.raw`\.`)} `, 'm'));
  const [text = ''] = contract.slice(start).split(/\n(?=#)/, 1);
  return text;
}

/** The names in backticks in a section, from these words to the end of the sentence. */
function namesAfter(words: string, section: string): readonly string[] {
  const [, after = ''] = textOf(section).split(words);
  const [sentence = ''] = after.split(/\.\s/, 1);
  return Array.from(sentence.matchAll(/`([^`]+)`/g), ([, name = '']) => name);
}

/** The cells of the tables in a section, without quotes and daggers, by what stands in the first column. */
function rowsIn(section: string): ReadonlyMap<string, readonly string[]> {
  const rows = textOf(section)
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  return new Map(
    rows.map((line) => {
      const [first = '', ...cells] = line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.replace(/[`†]/g, '').trim());
      return [first, cells];
    }),
  );
}

/** A number as the page writes it; null for a dash. */
function numberIn(cell: string | undefined): number | null {
  return cell === '–' ? null : Number(cell?.replaceAll(',', ''));
}

/** An amount as the page writes it, in pico-USD. */
function usdIn(cell: string | undefined): PicoUsd {
  return parseUsd(cell ?? '');
}

describe('docs/contract.md', () => {
  it('has every section that is cited', () => {
    const unknown = sources.flatMap(({ file, text }) =>
      citedIn(text).flatMap((number) => (sections.has(number) ? [] : [`${file} cites contract ${number}`])),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('is cited in one form only', () => {
    const offenders = sources.filter(({ text }) => OLD_CITATION.test(text));
    expect(offenders.map(({ file }) => file)).to.deep.equal([]);
  });

  it('is cited by the code', () => {
    const cited = new Set(sources.flatMap(({ file, text }) => (file.endsWith('.ts') ? citedIn(text) : [])));
    expect([...cited]).to.include.members(['2.1', '3', '4.1', '4.2', '4.8.4', '7.1']);
  });

  it('names every endpoint, and no other', () => {
    const withoutNames = (path: string): string => path.replaceAll(/\{[^}]*\}/g, '{}');
    const callsIn = (text: string, prefix: string): readonly string[] =>
      Array.from(
        text.matchAll(/\b(GET|POST|PATCH|DELETE) (\/[^\s`?,]*)/g),
        ([, method = '', path = '']) => `${method} ${path.startsWith('/v1') ? '' : prefix}${withoutNames(path)}`,
      );
    const administration = textOf('4.11');
    const named = [...callsIn(contract.replace(administration, ''), ''), ...callsIn(administration, '/admin/v1')];
    const alsoStreamed = named.map((call) => call.replace(':generateContent', ':streamGenerateContent'));
    const mounted = endpointsFor({ takesPayments: true }).map(
      ({ method, path }) => `${method.toUpperCase()} ${withoutNames(path)}`,
    );
    expect([...new Set([...named, ...alsoStreamed])].toSorted()).to.deep.equal(
      [...mounted, ...NOT_IN_DESCRIPTION].toSorted(),
    );
  });

  it('lists the codes of errors in force, with their statuses', () => {
    const listed = Array.from(rowsIn('7.2'), ([code, [status, retryable]]) => [
      code,
      { status: numberIn(status), retryable: retryable === 'yes' },
    ]);
    expect(Object.fromEntries(listed)).to.deep.equal(ERRORS);
  });

  it('lists the media models in force, with their limits and prices', () => {
    const { videoModels, imageModels } = catalogue;
    const rows = rowsIn('2.5');
    expect([...rows.keys()]).to.have.members([...videoModels.keys(), ...imageModels.keys()]);
    const upTo = (most: number | null): string => (most === null ? '–' : `0–${most}`);
    for (const model of videoModels.values()) {
      const { images, durationSeconds, maxReferenceVideos, maxReferenceAudios } = model;
      const [seconds, pictures, videos, sounds, ...prices] = rows.get(model.id) ?? [];
      expect(seconds).to.equal(`${durationSeconds.min}–${durationSeconds.max}`);
      expect(pictures).to.equal(`${images.required ? 1 : 0}–${images.max}`);
      expect([videos, sounds]).to.deep.equal([maxReferenceVideos, maxReferenceAudios].map(upTo));
      expect(prices.map(usdIn)).to.deep.equal([...model.pricing.byResolution.values()]);
    }
    for (const model of imageModels.values()) {
      const [pictures, ...prices] = rows.get(model.id) ?? [];
      expect(pictures).to.equal(upTo(model.images.max));
      expect(prices.map(usdIn)).to.deep.equal(Object.values(model.pricePerTier));
    }
  });

  for (const [section, { shape }] of [
    ['4.8.1', readChat],
    ['4.8.2', readResponses],
    ['4.8.3', readMessages],
  ] as const) {
    it(`lists in ${section} the fields that are passed on, have no effect or are refused`, () => {
      const fieldsThat = (isSuch: (reader: object) => boolean): readonly string[] =>
        Object.entries(shape).flatMap(([field, reader]) => (isSuch(reader) ? [field] : []));
      const passed = fieldsThat((reader) => reader === passedOn);
      expect(namesAfter('Passed on: ', section)).to.have.members(passed);
      expect(namesAfter('Without effect: ', section)).to.have.members(fieldsThat((reader) => reader === ignored));
      const refused = fieldsThat((reader) => 'isRefused' in reader);
      for (const field of refused) expect(textOf(section)).to.contain(`\`${field}\``);
      const others = fieldsThat((reader) => reader !== passedOn && reader !== ignored && !('isRefused' in reader));
      const rows = [...textOf(section).matchAll(/^\|\s*(`[^|]+)\|/gm)].flatMap(
        ([, cell = '']) => cell.match(/\w+/g) ?? [],
      );
      expect(
        rows.filter((name) => others.includes(name)),
        'each has a row',
      ).to.include.members(others.filter((name) => name !== 'background'));
    });
  }

  it('lists in 4.8.4 the fields that have no effect, by name or as the other standard fields', () => {
    const { shape } = generationConfig;
    const ignoredIn = (fields: object): string[] =>
      Object.entries(fields).flatMap(([field, reader]) => (reader === ignored ? [field] : []));
    const named = namesAfter('Without effect: ', '4.8.4').filter((name) => name !== 'generationConfig');
    expect([...ignoredIn(readNative.shape), ...ignoredIn(shape)]).to.include.members([...named]);
    const effective = namesAfter('these have an effect: ', '4.8.4');
    expect(Object.keys(shape).filter((field) => !ignoredIn(shape).includes(field))).to.have.members(effective);
  });

  it('lists the text models in force, with their limits and prices', () => {
    const rows = rowsIn('2.6');
    expect([...rows.keys()].filter((id) => /^text[c-l]/.test(id))).to.have.members([...catalogue.textModels.keys()]);
    for (const model of catalogue.textModels.values()) {
      const [context, maxOutput, input, cached, output, notes = ''] = rows.get(model.id) ?? [];
      const { rates, tiers, peaks } = model.pricing;
      expect([numberIn(context), numberIn(maxOutput)], model.id).to.deep.equal([
        model.contextTokens,
        model.maxOutputTokens,
      ]);
      expect([input, cached, output].map(usdIn), model.id).to.deep.equal(
        [rates.input, rates.cachedInput, rates.output].map((rate) => rate * 1_000_000n),
      );
      expect(rates.cacheWrite, model.id).to.equal(rates.input);
      const noted = { tiers: notes.includes('long prompts'), peaks: /daytime|working hours/.test(notes) };
      expect(noted, model.id).to.deep.equal({ tiers: tiers.length > 0, peaks: peaks.length > 0 });
      expect([notes.includes('free'), notes === 'older'], model.id).to.deep.equal([model.free, model.legacy]);
      expect(notes.includes('does not reason'), model.id).to.equal(!model.reasoning);
    }
  });
});

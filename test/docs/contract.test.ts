import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { endpointsFor } from '../../api/endpoints.ts';
import { REFUSED_FOR_MS } from '../../services/tasks/image-links.ts';
import { READ_REQUEST as READ_CHAT } from '../../text/chat-completions/request-shape.ts';
import { readRequest as readEmbeddings } from '../../text/embeddings/request-shape.ts';
import { readRequest as readRerank } from '../../text/rerank/index.ts';
import { useOf } from '../../text/fields.ts';
import { GENERATION_CONFIG, READ_REQUEST as READ_NATIVE } from '../../text/generate-content/request-shape.ts';
import { READ_REQUEST as READ_MESSAGES } from '../../text/messages/request-shape.ts';
import { READ_REQUEST as READ_RESPONSES } from '../../text/responses/request-shape.ts';
import { CATALOGUE } from '../support/catalogue.ts';
import { PACE_CHECK_MS, SLOWEST_BYTES_PER_SECOND } from '../../api/receiving.ts';
import { VARIABLE_GROUPS } from '../../config-variables.ts';
import { ATTEMPT_LIMITS } from '../../db/queries/attempt-limits.ts';
import { ERRORS, TASK_ERROR_CODES } from '../../domain/errors.ts';
import { IMAGE_CHOICES } from '../../domain/image-choices.ts';
import {
  BODIES,
  EMBEDDINGS,
  RERANK,
  FREE_REQUESTS_PER_MINUTE,
  IDEMPOTENCY,
  IMAGE_LINKS,
  PAGES,
  READS_PER_MINUTE,
  UPLOAD_LIMITS,
  UPLOADS,
  USAGE,
  WEBHOOKS,
} from '../../domain/policy.ts';
import { CLIENT_LIMITS, MAX_HEADER_BYTES, MAX_REQUESTS_UNDER_WAY, REQUEST_TIMEOUT_MS } from '../../api/http-server.ts';
import { document } from '../support/openapi.ts';
import { CONTRACT as contract } from './contract-page.ts';
import { type PicoUsd, parseUsd } from '../../domain/money.ts';
import { STORE_LIMIT_MS } from '../../domain/step-limits.ts';

const root = join(import.meta.dirname, '../..');
const DEFAULTS: ReadonlyMap<string, string | undefined> = new Map(
  Object.values(VARIABLE_GROUPS).flatMap((group) =>
    Object.entries(group).map(([name, { defaultText }]) => [name, defaultText]),
  ),
);

/** One section, or several: `contract 2.1`, `contract 2.4, 4.7 and 6`, `contract 4.1 to 4.3`. */
const CITATION = /\bcontract (\d[\d.]*\d|\d)((?:(?:, | and | to )\d(?:[\d.]*\d)?)*)/gi;
/** The older form, written so that this file does not contain it. */
const OLD_CITATION = /specification[ ]section/i;

/** Pages to read, served beside the endpoints. */
const NOT_IN_DESCRIPTION = ['GET /docs', 'GET /docs/api', 'GET /docs/administration', 'GET /status'];

interface Source {
  readonly file: string;
  /** The words of a text, without line breaks and the marks of comments. */
  readonly text: string;
}

/** Every source and document of the repository. */
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
  const start = contract.search(new RegExp(`^#+ ${section.replaceAll('.', String.raw`\.`)}\\.? `, 'm'));
  const [text = ''] = contract.slice(start).split(/\n(?=#)/, 1);
  return text;
}

/** The names in backticks in a section, from these words to the end of the sentence. */
function namesAfter(words: string, section: string): readonly string[] {
  const [, after = ''] = textOf(section).split(words);
  const [sentence = ''] = after.split(/\.\s/, 1);
  return Array.from(sentence.matchAll(/`([^`]+)`/g), ([, name = '']) => name);
}

/** The cells of the tables in a section, without quotes and daggers, by the first column. */
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

const IN_WORDS: Readonly<Record<number, string>> = { 1: 'a', 2: 'two', 3: 'three', 5: 'five', 7: 'seven', 10: 'ten' };

function inWords(count: number): string {
  return IN_WORDS[count] ?? String(count);
}

/** The default of a variable of the environment, which is a number, a list of numbers or a size. */
function defaultOf(name: string): string {
  return DEFAULTS.get(name) ?? expect.fail(`there is no ${name}`);
}

/** A number as the page writes it. */
function written(count: number | string): string {
  return Number(count).toLocaleString('en-US');
}

/** Parts of sentences with the numbers of the code, by section. */
function numbersInForce(): Readonly<Record<string, readonly string[]>> {
  const { neverToppedUp, toppedUp, expiryMs } = UPLOAD_LIMITS;
  const waits = defaultOf('GENWAY_WEBHOOK_SCHEDULE_S').split(',').map(Number);
  const [, second = 0, third = 0, fourth = 0, ...later] = waits;
  const hours = later.map((wait) => wait / 3600);
  const { common, text, embeddings } = BODIES;
  const { byConnection, byCredential, byProcess } = CLIENT_LIMITS.unreadBytes;
  return {
    '3': [
      `${Number(defaultOf('GENWAY_TASK_DEADLINE_S')) / 60} minutes after `,
      '(`GENWAY_TASK_DEADLINE_S`)',
      `store a result for ${STORE_LIMIT_MS === 3_600_000 ? 'an hour' : `${STORE_LIMIT_MS} ms`}`,
    ],
    '4.1': [
      `1 to ${IDEMPOTENCY.maxKeyLength} characters`,
      `within ${IDEMPOTENCY.windowHours} hours of the first answer`,
    ],
    '4.3': [
      `at most ${inWords(IMAGE_LINKS.maxRedirects)} redirects, within ${inWords(IMAGE_LINKS.timeoutMs / 1000)} seconds`,
      `again for ${inWords(REFUSED_FOR_MS / 60_000)} minute`,
    ],
    '4.5': [
      `keep ${neverToppedUp.files} files of ${neverToppedUp.bytes / 2 ** 20} MB in all before its first top-up`,
      `and ${written(toppedUp.files)} files of ${written(toppedUp.bytes / 2 ** 20)} MB after it`,
      `Videos may have ${UPLOADS.maxVideoBytes / 2 ** 20} MB, all others ${UPLOADS.maxBytes / 2 ** 20} MB`,
      `has used after ${inWords(expiryMs / 86_400_000)} days`,
    ],
    '4.7': [
      `${WEBHOOKS.maxEndpoints} endpoints, request ${WEBHOOKS.testEventsPerMinute} test events per minute`,
      `${WEBHOOKS.redeliveryCallsPerMinute} calls per minute to the two redeliver calls`,
      `up to ${WEBHOOKS.redeliveriesPerCall} deliveries`,
      `at most ${WEBHOOKS.maxAttempts} attempts`,
    ],
    '4.8.5': [`1 to ${written(EMBEDDINGS.maxInputs)} inputs`, `1 to ${written(EMBEDDINGS.maxDimensions)}, for`],
    '4.8.8': [`1 to ${written(RERANK.maxDocuments)} texts`],
    '4.9': [`by default the last ${USAGE.defaultDays} days, at most ${USAGE.maxDays} days`],
    '4.10': [`(default ${PAGES.defaultLimit}, at most ${PAGES.maxLimit})`],
    '6': [
      `any 2xx within ${WEBHOOKS.attemptTimeoutMs / 1000} seconds`,
      `${inWords(waits.length)} attempts in total, the first at once`,
      `${second} seconds, ${third / 60} minutes, ${fourth / 60} minutes`,
      `${hours.slice(0, -1).join(', ')} and ${hours.at(-1)} hours after the previous attempt (\`GENWAY_WEBHOOK_SCHEDULE_S\`)`,
      `lengthens a wait, up to ${WEBHOOKS.maxRetryAfterSeconds / 3600} hours`,
      `${ATTEMPT_LIMITS.perEndpoint} to one endpoint, ${ATTEMPT_LIMITS.perAccount} to all endpoints of one account`,
      `${inWords(ATTEMPT_LIMITS.timeoutsUntilPause)} times in a row`,
      `nothing for ${inWords(ATTEMPT_LIMITS.pauseSeconds / 60)} minute`,
      `${inWords(ATTEMPT_LIMITS.failingDays)} days of failed attempts`,
      `for ${WEBHOOKS.secretOverlapSeconds / 3600} hours \`webhook-signature\` has`,
      `the first ${WEBHOOKS.answerBytes / 1024} KB of each answer`,
      `${WEBHOOKS.keptDays} days after the last delivery is final`,
      `a timestamp more than ${inWords(WEBHOOKS.timestampToleranceSeconds / 60)} minutes`,
    ],
    '8.1': [
      `| ${defaultOf('GENWAY_RATE_LIMIT_RPM')} (\`GENWAY_RATE_LIMIT_RPM\`)`,
      `| ${written(READS_PER_MINUTE)}, and never less`,
      `| ${defaultOf('GENWAY_MAX_CONCURRENT_TASKS')} (\`GENWAY_MAX_CONCURRENT_TASKS\`)`,
      `| ${FREE_REQUESTS_PER_MINUTE.neverToppedUp} before the first top-up, ${FREE_REQUESTS_PER_MINUTE.toppedUp} after`,
      `| ${WEBHOOKS.testEventsPerMinute} each |`,
    ],
    '8.2': [
      `| ${common.maxBytes / 2 ** 20} MiB | ${text.maxBytes / 2 ** 20} MiB | ${embeddings.maxBytes / 2 ** 20} MiB |`,
      `| ${common.maxDepth} levels | ${text.maxDepth} levels | ${embeddings.maxDepth} levels |`,
      `| ${written(common.maxValues)} | ${written(text.maxValues)} | ${written(embeddings.maxValues)} |`,
      `${MAX_HEADER_BYTES / 2 ** 10} KiB and must be complete within ${CLIENT_LIMITS.headersMs / 1000} seconds`,
      `${written(SLOWEST_BYTES_PER_SECOND)} bytes a second over ${inWords(PACE_CHECK_MS / 1000)} seconds`,
      `no request may take longer than ${inWords(REQUEST_TIMEOUT_MS / 60_000)} minutes to arrive`,
      `At most ${MAX_REQUESTS_UNDER_WAY} requests may be in progress`,
      `reads nothing of its answer for ${inWords(CLIENT_LIMITS.unreadMs / 60_000)} minute`,
      `more than ${byConnection / 2 ** 20} MiB of answers unread on one connection, ${byCredential / 2 ** 20} MiB with one key, or ${byProcess / 2 ** 20} MiB in one process`,
    ],
    '8.3': [`after ${defaultOf('GENWAY_TEXT_CUTOFF_S')} seconds (\`GENWAY_TEXT_CUTOFF_S\`)`],
  };
}

describe('docs/contract.md', () => {
  it('has every section that is cited', () => {
    const unknown = sources.flatMap(({ file, text }) =>
      citedIn(text).flatMap((number) => (sections.has(number) ? [] : [`${file} cites contract ${number}`])),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('the contract is cited in one form only', () => {
    const offenders = sources.filter(({ text }) => OLD_CITATION.test(text));
    expect(offenders.map(({ file }) => file)).to.deep.equal([]);
  });

  it('the code cites the contract', () => {
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
    const mounted = endpointsFor({ canTakePayments: true }).map(
      ({ method, path }) => `${method.toUpperCase()} ${withoutNames(path)}`,
    );
    expect([...new Set([...named, ...alsoStreamed])].toSorted()).to.deep.equal(
      [...mounted, ...NOT_IN_DESCRIPTION].toSorted(),
    );
  });

  for (const [section, about] of [
    ['2.1', 'Task'],
    ['2.2', 'TaskOutput'],
    ['2.4', 'Webhook'],
    ['2.4', 'Delivery'],
    ['2.7', 'UploadedFile'],
    ['2.8', 'VideoModel'],
    ['2.8', 'ImageModel'],
    ['2.8', 'TextModel'],
    ['2.9', 'Balance'],
    ['2.9', 'DailyUsage'],
    ['2.9', 'TextRequest'],
  ] as const) {
    it(`names in ${section} every field of ${about} that the API description has`, () => {
      // contract 2.4:5 2.4:10 2.4:11 2.4:13 2.4:14 2.4:18 2.8:2 2.8:3 2.8:4 2.9:2 2.9:4
      const fields = Object.keys(Object(Object(document.components['schemas'])[about]).properties).filter(
        (field) => section !== '2.9' || field !== 'object',
      );
      expect(fields).to.not.deep.equal([]);
      for (const field of fields) expect(textOf(section), field).to.contain(`\`${field}`);
    });
  }

  it('names in 2.8 the list of every choice of images', () => {
    // contract 2.8:3
    for (const { list } of IMAGE_CHOICES) expect(textOf('2.8')).to.contain(`\`${list}\``);
  });

  it('lists the codes of failed tasks in 3, the fields of other media models in 4.2 and the older models in 9', () => {
    // contract 3:12 4.2:34 9:4
    expect(namesAfter('A failed task has one of these codes: ', '3')).to.deep.equal([...TASK_ERROR_CODES]);
    const named = textOf('4.2');
    for (const { unsupportedFields } of CATALOGUE.imageModels.values()) {
      for (const field of unsupportedFields) expect(named, field).to.contain(`\`${field}\``);
    }
    const older = [...CATALOGUE.textModels.values()].filter(({ legacy }) => legacy);
    const olderNamed = namesAfter('Older models still work and are marked ', '9').filter((name) =>
      name.startsWith('text'),
    );
    expect(olderNamed).to.have.members(older.map(({ id }) => id));
  });

  it('lists in 9 the prefixes of the paths of endpoints', () => {
    // contract 9:1
    const paths = endpointsFor({ canTakePayments: true }).map(({ path }) => path);
    const others = paths.filter((path) => !/^\/(v1|v1beta|admin\/v1)\//.test(path));
    expect(others).to.have.members([
      '/mcp',
      '/healthz',
      '/readyz',
      '/metrics',
      '/status.json',
      '/pricing.json',
      '/openapi.json',
    ]);
  });

  it('states in 2.2 that the files of this edition are checked exactly', () => {
    // contract 2.2:13
    const models = [...CATALOGUE.videoModels.values(), ...CATALOGUE.imageModels.values()];
    expect(new Set(models.map(({ resultCheck }) => resultCheck))).to.deep.equal(new Set(['exact']));
  });

  for (const [section, parts] of Object.entries(numbersInForce())) {
    it(`has the current numbers in ${section}`, () => {
      // contract 3:9 4.3:16 4.5:9 4.5:11 4.10:2 6:16 6:17 6:19 6:20 6:23 6:24 8.1:1 8.1:2 8.1:3 8.1:4 8.2:1 8.2:2 8.2:3 8.2:6 8.2:7 8.2:8 8.2:9
      for (const part of parts) expect(textOf(section).replace(/\s+/g, ' ')).to.contain(part);
    });
  }

  it('lists the current error codes, with their statuses', () => {
    // contract 2.3:1 7.2:18 7.2:19 7.2:20 7.2:21 7.2:22 7.2:23 7.4:1
    const listed = Array.from(rowsIn('7.2'), ([code, [status, retryable]]) => [
      code,
      { status: numberIn(status), retryable: retryable === 'yes' },
    ]);
    expect(Object.fromEntries(listed)).to.deep.equal(ERRORS);
  });

  it('lists the current media models, with their limits and prices', () => {
    // contract 2.5:1
    const { videoModels, imageModels } = CATALOGUE;
    const rows = rowsIn('2.5');
    expect([...rows.keys()]).to.have.members([...videoModels.keys(), ...imageModels.keys()]);
    const upTo = (most: number | null): string => (most === null ? '–' : `0–${most}`);
    for (const model of videoModels.values()) {
      const { images, durationSeconds, maxReferenceVideos, maxReferenceAudios } = model;
      const [seconds, pictures, videos, sounds, ...prices] = rows.get(model.id) ?? [];
      expect(seconds).to.equal(`${durationSeconds.min}–${durationSeconds.max}`);
      expect(pictures).to.equal(`${images.required ? 1 : 0}–${images.max}`);
      expect([videos, sounds]).to.deep.equal([maxReferenceVideos, maxReferenceAudios].map(upTo));
      expect(prices.map(usdIn)).to.deep.equal(Object.values(model.pricing.byResolution));
    }
    for (const model of imageModels.values()) {
      const [pictures, ...prices] = rows.get(model.id) ?? [];
      expect(pictures).to.equal(upTo(model.images.max));
      expect(prices.map(usdIn)).to.deep.equal(Object.values(model.pricing.byResolution));
    }
  });

  for (const [section, { shape }] of [
    ['4.8.1', READ_CHAT.specification],
    ['4.8.2', READ_RESPONSES.specification],
    ['4.8.3', READ_MESSAGES.specification],
    ['4.8.5', readEmbeddings],
    ['4.8.8', readRerank],
  ] as const) {
    it(`lists in ${section} the fields that are passed on, have no effect or are refused`, () => {
      // contract 4.8.1:23 4.8.1:24 4.8.2:20 4.8.2:21 4.8.3:14 4.8.3:15 4.8.3:16
      const fieldsThat = (isSuch: (reader: object) => boolean): readonly string[] =>
        Object.entries(shape).flatMap(([field, reader]) => (isSuch(reader) ? [field] : []));
      const passed = fieldsThat((reader) => useOf(reader) === 'same-format');
      expect(namesAfter('Passed on: ', section)).to.have.members(passed);
      expect(namesAfter('Without effect: ', section)).to.have.members(fieldsThat((reader) => useOf(reader) === 'none'));
      const refused = fieldsThat((reader) => 'isRefused' in reader);
      for (const field of refused) expect(textOf(section)).to.contain(`\`${field}\``);
      const others = fieldsThat((reader) => useOf(reader) === null && !('isRefused' in reader));
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
    // contract 4.8.4:6 4.8.4:9 4.8.4:10
    const { shape } = GENERATION_CONFIG.specification;
    const ignoredIn = (fields: object): string[] =>
      Object.entries(fields).flatMap(([field, reader]) => (useOf(reader) === 'none' ? [field] : []));
    const named = namesAfter('Without effect: ', '4.8.4').filter((name) => name !== 'generationConfig');
    expect([...ignoredIn(READ_NATIVE.specification.shape), ...ignoredIn(shape)]).to.include.members([...named]);
    const effective = namesAfter('these have an effect: ', '4.8.4');
    expect(Object.keys(shape).filter((field) => !ignoredIn(shape).includes(field))).to.have.members(effective);
  });

  it('lists the current text models, with their limits and prices', () => {
    // contract 2.6:3 2.6:4
    const rows = rowsIn('2.6');
    expect([...rows.keys()].filter((id) => /^(text[c-m]|demo-|voice-)/.test(id))).to.have.members([
      ...CATALOGUE.textModels.keys(),
    ]);
    for (const model of CATALOGUE.textModels.values()) {
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

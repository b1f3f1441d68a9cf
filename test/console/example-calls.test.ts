import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { OWN_SITE } from '../../catalogue/site.ts';
import { exampleCalls } from '../../console/public/example-calls.ts';
import { examplesOf } from '../../console/pages/playground/calls.ts';
import { REQUEST_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { publicOffer } from '../../services/operations/public-offer.ts';
import { CATALOGUE } from '../support/catalogue.ts';
import { useAccount, useTestConsole } from '../support/console.ts';
import { ALL_MODELS } from '../support/dependencies.ts';

const run = promisify(execFile);
const OFFER = publicOffer(CATALOGUE, ALL_MODELS);

/** The first model of each format, and of each kind of media. */
const FIRST = [
  ...REQUEST_FORMAT_NAMES.map((format) =>
    OFFER.find(({ model }) => 'formats' in model && model.formats.includes(format)),
  ),
  ...['video', 'image'].map((wanted) => OFFER.find(({ kind }) => kind === wanted)),
  OFFER.find(({ model }) => 'kind' in model && model.images.required),
];

describe('the calls on the page of a model', () => {
  const app = useTestConsole({
    site: () => ({ ...OWN_SITE, isPublic: true }),
    simulatesText: true,
    settings: { allowPrivateAddresses: true },
  });
  const customer = useAccount(app, { fundedUsd: 100 });
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-examples-'));
  });
  after(() => rm(folder, { recursive: true }));

  for (const model of new Set(FIRST)) {
    it(`run with curl and TypeScript as they stand: ${model?.id ?? 'a format without a model'}`, async () => {
      if (model === undefined) throw new Error('The catalogue has no model of a format.');
      const page = await (await fetch(`${app.baseUrl}/models/${encodeURIComponent(model.id)}`)).text();
      const codes = Array.from(page.matchAll(/<pre class="example"[^>]*>([^<]+)</g), ([, code = '']) =>
        unescaped(code),
      );
      const calls = exampleCalls(model, app.baseUrl);
      expect(codes).to.deep.equal(calls.flatMap((call) => examplesOf(call).map(({ code }) => code)));
      const options = { cwd: folder, env: { ...process.env, API_KEY: customer.apiKey } };
      for (const code of codes.filter((code) => code.startsWith('curl ')))
        await run('sh', ['-c', code.replaceAll('curl ', 'curl --fail-with-body ')], options);
      for (const code of codes.filter((code) => code.startsWith('import {')))
        await run(process.execPath, ['--input-type=module', '-e', code], options);
    });
  }
});

/** Turns the page's HTML back into text. */
function unescaped(html: string): string {
  return html
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

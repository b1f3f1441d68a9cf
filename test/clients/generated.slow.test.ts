import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { GENERATORS, saveDescription } from '../../lab/clients/generated.ts';
import { pngFile } from '../support/media-files.ts';
import { useTestStack } from '../support/stack.ts';

describe('clients generated from the API description', () => {
  const stack = useTestStack();
  let folder: string;
  let settings: Record<string, string>;

  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    const { apiKey } = await stack.createAccount({ fundedUsd: 100 });
    folder = await mkdtemp(join(tmpdir(), 'genway-generated-'));
    const picture = join(folder, 'picture.png');
    await writeFile(picture, pngFile({ width: 64, height: 64 }));
    await saveDescription(stack.baseUrl, join(folder, 'openapi.json'));
    settings = { BASE_URL: stack.baseUrl, API_KEY: apiKey, PICTURE: picture };
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const [generator, attempt] of Object.entries(GENERATORS)) {
    it(`ask for text in three formats, upload, and create a video and read it: ${generator}`, async () => {
      const printed = await attempt(join(folder, 'openapi.json'), folder, settings);
      expect(printed).to.match(/task_\w{32} video\/mp4/);
    });
  }
});

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { STORE } from '../../../../lab/drill/faults/store.ts';
import { createRandom } from '../../../../lab/drill/random.ts';
import { createLocalStorage } from '../../../../storage/local.ts';
import { quietStage } from '../../../support/drill.ts';
import { useTestFolder } from '../../../support/started.ts';

const LASTS_MS = 300;

describe('the outage of the store in a drill', () => {
  const home = useTestFolder();

  // Seeds of both kinds of outage.
  for (const seed of [1, 2, 3, 4]) {
    it(`refuses every write while it lasts, and keeps the stored files: seed ${seed}`, async () => {
      const directory = join(home, `files-${seed}`);
      const stage = quietStage({ stores: { folder: directory, disk: null, s3: null } });
      await mkdir(directory);
      await writeFile(join(directory, 'kept.txt'), 'kept');
      const storage = createLocalStorage({ directory, publicUrl: 'http://localhost' });
      const put = () => storage.put('new.txt', bytes(), { contentType: 'text/plain', maxBytes: 100 });
      await put();
      const struck = STORE.strike(stage, createRandom(seed), LASTS_MS);
      let isOver = false;
      void struck.then(() => (isOver = true));
      await new Promise((resolve) => setTimeout(resolve, LASTS_MS / 3));
      const isRefused = await put().then(
        () => false,
        () => true,
      );
      // On a slow machine, the outage may end before the write.
      if (!isOver) expect(isRefused).to.equal(true);
      await struck;
      await put();
      expect(await readFile(join(directory, 'kept.txt'), 'utf8')).to.equal('kept');
    });
  }
});

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('bytes');
}

import { expect } from 'chai';
import { mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalStorage, sweepUnfinished } from '../../storage/local.ts';
import { holdsTheStorageContract } from './contract.ts';

describe('storage/local', () => {
  let directory = '';

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'genway-storage-'));
  });

  afterEach(() => rm(directory, { recursive: true }));

  holdsTheStorageContract(() => ({
    storage: createLocalStorage({ directory, publicUrl: 'https://files.example.com/files/' }),
    read: (key) => readFile(join(directory, key)).catch(() => null),
    traces: async () => {
      const entries = await readdir(directory, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
    },
  }));

  it('makes links below the public one', () => {
    const storage = createLocalStorage({ directory, publicUrl: 'https://files.example.com/files/' });
    expect(storage.urlOf('results/task_1/0.mp4')).to.equal('https://files.example.com/files/results/task_1/0.mp4');
  });

  describe('the sweep of unfinished files', () => {
    const now = Date.now();
    const minutesOld = async (path: string, minutes: number): Promise<void> => {
      await writeFile(join(directory, path), 'x');
      await utimes(join(directory, path), new Date(), new Date(now - minutes * 60_000));
    };

    it('removes only files that were not written to for an hour', async () => {
      await mkdir(join(directory, '.unfinished'));
      await mkdir(join(directory, 'results'));
      await minutesOld('.unfinished/abandoned', 61);
      await minutesOld('.unfinished/being-written', 59);
      await minutesOld('results/0.mp4', 10_000);
      expect(await sweepUnfinished(directory, now)).to.equal(1);
      expect(await readdir(join(directory, '.unfinished'))).to.deep.equal(['being-written']);
      expect(await readdir(join(directory, 'results'))).to.deep.equal(['0.mp4']);
    });

    it('may run in several processes at once', async () => {
      await mkdir(join(directory, '.unfinished'));
      for (let file = 0; file < 20; file++) await minutesOld(`.unfinished/${file}`, 61);
      await Promise.all(Array.from({ length: 4 }, () => sweepUnfinished(directory, now)));
      expect(await readdir(join(directory, '.unfinished'))).to.deep.equal([]);
    });

    it('does nothing where nothing was ever stored', async () => {
      expect(await sweepUnfinished(join(directory, 'none'))).to.equal(0);
    });
  });
});

import { expect } from 'chai';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalStorage } from '../../storage/local.ts';
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
});

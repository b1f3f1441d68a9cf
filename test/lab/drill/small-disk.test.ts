import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { mountSmallDisk } from '../../../lab/drill/small-disk.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useTestFolder } from '../../support/started.ts';

const run = promisify(execFile);

describe('the small disk of a drill', () => {
  const home = useTestFolder();

  it('accepts no write while it is full, and exists only on machines that can mount it', async () => {
    const folder = join(home, 'disk');
    const disk = await mountSmallDisk(folder);
    if (disk === null) {
      expect(await rejectionOf(run('mount', ['-t', 'tmpfs', 'tmpfs', folder]))).to.be.instanceOf(Error);
      return;
    }
    try {
      await writeFile(join(folder, 'before'), 'fits');
      const empty = await disk.fill();
      expect(await rejectionOf(writeFile(join(folder, 'meanwhile'), 'fits not'))).to.have.property('code', 'ENOSPC');
      await empty();
      await writeFile(join(folder, 'after'), 'fits');
    } finally {
      disk.unmount();
    }
  });
});

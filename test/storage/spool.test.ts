import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { spool } from '../../storage/spool.ts';
import { rejectionOf } from '../support/rejection.ts';

/** No process has an id as high. */
const NO_PROCESS = 2 ** 30;

describe('a spooled file', () => {
  it('can be read several times until it is removed', async () => {
    const file = await spool(Readable.from([Buffer.from('one '), Buffer.from('two')]), {
      owner: 'a',
      extension: '.wav',
    });
    expect(file.path).to.match(/\.wav$/);
    for (let time = 0; time < 2; time += 1) expect(String(await buffer(file.read()))).to.equal('one two');
    await file.remove();
    expect(existsSync(dirname(file.path))).to.equal(false);
  });

  it('is refused beyond the part of its owner, which leaves room for others', async () => {
    const large = Readable.from([Buffer.alloc(513 * 2 ** 20)]);
    const { code } = Object(await rejectionOf(spool(large, { owner: 'a' })));
    expect(code).to.equal('processing_unavailable');
    const file = await spool(Readable.from([Buffer.from('one')]), { owner: 'a' });
    await file.remove();
  });

  it('removes the folders of dead processes, and of no other, when it is the first of its process', async () => {
    const dead = await mkdtemp(join(tmpdir(), `genway-audio-${NO_PROCESS}-`));
    const alive = await mkdtemp(join(tmpdir(), `genway-audio-${process.ppid}-`));
    // A second instance of the module, as in a process that starts.
    const { spool: spoolFirst } = await import(`../../storage/spool.ts?${Date.now()}`);
    const file = await spoolFirst(Readable.from([Buffer.from('one')]), { owner: 'a' });
    expect([existsSync(dead), existsSync(alive), existsSync(file.path)]).to.deep.equal([false, true, true]);
    await file.remove();
    await rm(alive, { recursive: true });
  });
});

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { downloadTemporal } from '../../../bin/stack/find-temporal-server.ts';
import { useLocalServer } from '../../support/receiver.ts';
import { rejectionOf } from '../../support/rejection.ts';

const TARGET = `${platform()}_${arch() === 'x64' ? 'amd64' : arch()}`;

describe('the download of the Temporal server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'genway-download-'));
  after(() => rmSync(folder, { recursive: true }));
  const archive = archiveOf('the server');
  const server = useLocalServer((_request, response) => void response.end(archive));
  const download = (sha256: Readonly<Record<string, string>>) =>
    downloadTemporal({ folder: server.url, sha256 }, folder, () => {});

  function archiveOf(content: string): Buffer {
    writeFileSync(join(folder, 'temporal'), content);
    execFileSync('tar', ['-czf', 'archive.tar.gz', 'temporal'], { cwd: folder });
    rmSync(join(folder, 'temporal'));
    return readFileSync(join(folder, 'archive.tar.gz'));
  }

  it('unpacks an archive with the published digest', async () => {
    const digest = createHash('sha256').update(archive).digest('hex');
    expect(readFileSync(await download({ [TARGET]: digest }), 'utf8')).to.equal('the server');
  });

  it('fails for an archive with another digest, and for a platform without an archive', async () => {
    expect((await rejectionOf(download({ [TARGET]: 'a'.repeat(64) }))).message).to.contain('SHA-256');
    expect((await rejectionOf(download({}))).message).to.equal(`the release has no archive for ${TARGET}`);
  });
});

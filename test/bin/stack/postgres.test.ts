import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { Client } from 'pg';
import { findFreePort } from '../../../bin/stack/ports.ts';
import { startPostgres, type Postgres } from '../../../bin/stack/postgres.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useTestFolder } from '../../support/started.ts';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('PostgreSQL for development', () => {
  const folder = useTestFolder();
  let server: Postgres;

  const start = async (): Promise<Postgres> =>
    startPostgres({
      // A folder that only its owner may enter, as those of root and of mktemp are.
      dataDir: join(folder, 'data'),
      port: await findFreePort(),
      password: 'pass/word',
      settings: { fsync: 'off' },
    });

  before(async () => {
    server = await start();
    await query(server.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  });

  after(() => server.stop());

  it('requires the password', async () => {
    const url = new URL(server.url);
    url.password = 'guess';
    expect(await rejectionOf(query(url.href, 'SELECT 1'))).to.have.property('code', '28P01');
  });

  it('keeps its data over a stop, also with sessions open', async () => {
    const client = new Client({ connectionString: server.url });
    const ended = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    await server.stop();
    await ended;
    server = await start();
    expect(await query(server.url, 'SELECT answer FROM kept')).to.deep.equal([{ answer: 42 }]);
  });

  it('replaces the server that a crash left running', async () => {
    const { pid } = server;
    server = await start();
    expect(server.pid).not.to.equal(pid);
    expect(await query(server.url, 'SELECT answer FROM kept')).to.deep.equal([{ answer: 42 }]);
  });

  it('starts despite the lock of a server that was killed, even if its pid is in use again', async () => {
    await server.kill();
    await writeFile(join(folder, 'data', 'postmaster.pid'), `${process.pid}\n${join(folder, 'data')}\n`);
    server = await start();
    expect(await query(server.url, 'SELECT answer FROM kept')).to.deep.equal([{ answer: 42 }]);
  });

  it('reports the reason if it cannot start', async () => {
    const impossible = startPostgres({
      dataDir: join(folder, 'impossible'),
      port: await findFreePort(),
      password: 'x',
      settings: { shared_buffers: 'no size' },
    });
    expect(await rejectionOf(impossible))
      .to.have.property('message')
      .that.contains('invalid value for parameter "shared_buffers"');
  });
});

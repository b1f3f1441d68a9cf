import { expect } from 'chai';
import { pino } from 'pino';
import { createStatusApp } from '../../../bin/parts/status-app.ts';
import { listen, type RunningServer } from '../../../api/http-server.ts';
import { createDatabase } from '../../../db/database.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { useTestDatabase } from '../../support/database.ts';
import { call } from '../../support/stack.ts';

describe('health checks', () => {
  const testDatabase = useTestDatabase();
  const unreachable = createDatabase('postgres://nobody@127.0.0.1:9/nothing', 2);
  const servers: RunningServer[] = [];

  after(async () => {
    await Promise.all(servers.map((server) => server.stop(0)));
    await unreachable.destroy();
  });

  async function serve({ database = testDatabase.database, temporal = true } = {}): Promise<string> {
    const app = createStatusApp({
      database,
      isTemporalReachable: async () => temporal,
      metrics: createMetrics(),
      metricsToken: 'a token',
      log: pino({ level: 'silent' }),
    });
    const server = await listen(app.callback(), '127.0.0.1', 0);
    servers.push(server);
    return `http://127.0.0.1:${server.port}`;
  }

  it('report that the process is alive, whatever fails elsewhere', async () => {
    // contract 4.12:1
    const url = await serve({ database: unreachable, temporal: false });
    const { status, headers, body } = await call(`${url}/healthz`);
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ status: 'ok' });
    expect(headers.get('cache-control')).to.equal('no-store');
  });

  it('report that the process is ready', async () => {
    // contract 4.12:2
    const { status, body } = await call(`${await serve()}/readyz`);
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ status: 'ready', database: 'ok', temporal: 'ok' });
  });

  it('keep a process in service when only Temporal is unavailable', async () => {
    // contract 4.12:2
    const { status, body } = await call(`${await serve({ temporal: false })}/readyz`);
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ status: 'degraded', database: 'ok', temporal: 'unreachable' });
  });

  it('take a process out of service when it cannot reach its database', async () => {
    // contract 4.12:2
    const { status, body } = await call(`${await serve({ database: unreachable })}/readyz`);
    expect(status).to.equal(503);
    expect(body).to.deep.equal({ status: 'not_ready', database: 'unreachable', temporal: 'ok' });
  });

  it('keep a process out of service until its database has the required schema', async () => {
    const url = await serve();
    const migrations = testDatabase.database('knex_migrations');
    const [removed] = await migrations.clone().orderBy('id', 'desc').limit(1);
    await migrations.clone().where({ id: removed.id }).delete();
    const before = await call(`${url}/readyz`);
    expect(before.status).to.equal(503);
    expect(before.body).to.include({ status: 'not_ready', database: 'migrations_pending' });
    await migrations.clone().insert(removed);
    expect((await call(`${url}/readyz`)).status).to.equal(200);
  });

  it('answer other paths and methods as every server of Genway does', async () => {
    const url = await serve();
    expect((await call(`${url}/other`)).body).to.have.nested.property('error.code', 'not_found');
    const posted = await call(`${url}/readyz`, { body: {} });
    expect([posted.status, posted.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
  });
});

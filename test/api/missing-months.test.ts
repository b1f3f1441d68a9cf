import { expect } from 'chai';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { PARTITIONED_TABLES } from '../../db/partitions.ts';
import { useTestApp } from '../support/app.ts';
import { call } from '../support/stack.ts';

describe('a month whose tables are missing', () => {
  const app = useTestApp();

  async function loseMonth(): Promise<void> {
    const month = new Date().toISOString().slice(0, 7).replace('-', '_');
    for (const table of PARTITIONED_TABLES) await app.database.raw(`DROP TABLE ${table}_${month} CASCADE`);
  }

  it('is created at once by the request that needs it', async () => {
    const { apiKey } = await app.createAccount({ fundedUsd: 10 });
    await loseMonth();
    const body = { model: 'vidone-3.0', prompt: 'A test' };
    expect((await call(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, body })).status).to.equal(201);
  });

  it('is detected by the readiness check of a process, which creates its tables', async () => {
    await loseMonth();
    const { status, body } = await call(`${app.baseUrl}/readyz`);
    expect([status, body]).to.deep.include(503);
    expect(body).to.include({ status: 'not_ready', database: 'partitions_missing' });
    await waitUntil(
      async () => {
        expect((await call(`${app.baseUrl}/readyz`)).status).to.equal(200);
      },
      { timeoutMs: PATIENCE_MS },
    );
  });
});

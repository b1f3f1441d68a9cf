import { expect } from 'chai';
import { finishReconciliation } from '../../../../db/queries/reconciliations.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { useTestApp } from '../../../support/app.ts';

interface Body {
  readonly data: Readonly<Record<string, unknown>>;
}

describe('reconciliations', () => {
  const started: string[] = [];
  let isTemporalDown = false;

  const app = useTestApp({
    startReconciliation: async (id) => {
      if (isTemporalDown) throw new ServiceError('processing_unavailable', 'Temporal does not answer.');
      started.push(id);
    },
  });

  async function ask(method: string, path = ''): Promise<Body & { status: number }> {
    const response = await fetch(`${app.baseUrl}/admin/v1/reconciliations${path}`, {
      method,
      headers: { authorization: `Bearer ${app.adminToken}` },
    });
    // The test checks the shape.
    return { status: response.status, ...((await response.json()) as Body) };
  }

  it('start when an operator requests one, and have a report when they complete', async () => {
    // contract 4.11:53
    const { status, data } = await ask('POST');
    expect(status).to.equal(201);
    expect(data).to.include({ object: 'reconciliation', status: 'running', requested_by: 'operator' });
    const id = String(data['id']);
    expect(started).to.deep.equal([id]);
    expect((await ask('GET', `/${id}`)).data).to.deep.include({ status: 'running', findings: [] });

    const finding = { check: 'key_usage', subject: 'key_1', detail: 'wrong', remedy: 'correct it' };
    const check = { check: 'key_usage', question: 'Is it?', findings: 1, durationMs: 3 };
    await finishReconciliation(app.database, id, { checks: [check], findings: [finding] });
    const { data: report } = await ask('GET', `/${id}`);
    const shown = { ...finding, acknowledgement: null };
    expect(report).to.deep.include({ status: 'findings', findings_total: 1, findings: [shown] });
    expect(report['checks']).to.deep.equal([{ check: 'key_usage', question: 'Is it?', findings: 1, duration_ms: 3 }]);
  });

  it('export all their findings as CSV and as JSON lines', async () => {
    // contract 4.11:60
    const { data } = await ask('POST');
    const finding = { check: 'key_usage', subject: 'key_2', detail: 'wrong, "very"', remedy: 'correct it' };
    await finishReconciliation(app.database, String(data['id']), { checks: [], findings: [finding, finding] });
    const exported = async (accept: string) => {
      const headers = { authorization: `Bearer ${app.adminToken}`, accept };
      const response = await fetch(`${app.baseUrl}/admin/v1/reconciliations/${String(data['id'])}`, { headers });
      return (await response.text()).trimEnd().split(/\r?\n/);
    };
    const [header = '', ...rows] = await exported('text/csv');
    expect(header.split(',')).to.include.members(['check', 'subject', 'detail']);
    expect(rows).to.have.length(2);
    expect(rows[0]).to.contain('"wrong, ""very"""');
    const lines = await exported('application/x-ndjson');
    expect(lines.map((line) => Object(JSON.parse(line)).subject)).to.deep.equal(['key_2', 'key_2']);
  });

  it('are listed newest first, without their findings', async () => {
    // contract 4.11:53
    const { data: latest } = await ask('POST');
    await finishReconciliation(app.database, String(latest['id']), { checks: [], findings: [] });
    const { data } = await ask('GET', '?limit=1');
    expect(data[0]).to.include({ id: latest['id'], status: 'clean' });
    expect(data[0]).to.not.have.property('findings');
  });

  it('are not recorded when Temporal does not accept them', async () => {
    isTemporalDown = true;
    expect((await ask('POST')).status).to.equal(503);
    isTemporalDown = false;
    expect(await app.database('reconciliations')).to.have.length(3);
  });

  it('reconciliations are 404 if they do not exist', async () => {
    // contract 4.11:53
    expect((await ask('GET', '/rec_1')).status).to.equal(404);
  });
});

import { expect } from 'chai';
import { seedConsole } from '../../../lab/bench/console/seed.ts';
import { REPORT_LIMITS } from '../../../db/connections.ts';
import { STATEMENT } from '../../../db/queries/statements.ts';
import { useTestDatabase } from '../../support/database.ts';

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(node: PlanNode | undefined): readonly PlanNode[] {
  return node ? [node, ...(node.Plans ?? []).flatMap(nodesOf)] : [];
}

describe('db/queries/statements', () => {
  const test = useTestDatabase({ limits: REPORT_LIMITS });

  it('read only those transfers of a busy account that are in no sum yet', async () => {
    const { database } = test;
    const [key] = await seedConsole(database, { accounts: 2, tasks: 0, transfers: 60_000 }, () => {});
    const accountId = key?.accountId ?? '';
    const times = await database('transfers').where('account_id', accountId).pluck<Date[]>('created_at');
    const last = new Date(Math.max(...times.map(Number)));
    // As the sweep leaves it, an hour or so behind.
    const before = new Date(last.getTime() - 3_600_000);
    await database('daily_usage_summed').update({ before });
    const unsummed = times.filter((time) => time >= before).length;
    expect(unsummed).to.be.within(1, 100);
    const { rows } = await database.raw<{ rows: { 'QUERY PLAN': [{ Plan: PlanNode }] }[] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${STATEMENT}`,
      { accountId, from: new Date(last.getTime() - 86_400_000), to: new Date(last.getTime() + 86_400_000) },
    );
    const scans = nodesOf(rows[0]?.['QUERY PLAN'][0].Plan).filter((node) =>
      node['Relation Name']?.startsWith('transfers_'),
    );
    const read = scans.reduce(
      (sum, node) =>
        sum +
        node['Actual Loops'] *
          (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)),
      0,
    );
    expect(scans).to.not.deep.equal([]);
    // A month that holds a few pages, because it began or ended within the days that are filled, is read from end to end.
    expect(read, JSON.stringify(scans, null, 2)).to.be.within(unsummed, times.length / 20);
  });
});

import type { Database } from '../../db/database.ts';

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Runs a statement. @returns the number of rows read from the table and its partitions, kept or not */
export async function countRowsRead(
  database: Database,
  table: string,
  statement: string,
  bindings: Readonly<Record<string, string | number | Date>>,
): Promise<number> {
  const { rows } = await database.raw<{ rows: { 'QUERY PLAN': [{ Plan: PlanNode }] }[] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
    bindings,
  );
  const scans = nodesOf(rows[0]?.['QUERY PLAN'][0].Plan).filter((node) => node['Relation Name']?.startsWith(table));
  if (scans.length === 0) throw new Error(`the statement reads no rows of ${table}`);
  return scans.reduce((sum, node) => sum + node['Actual Loops'] * rowsOf(node), 0);
}

function nodesOf(node: PlanNode | undefined): readonly PlanNode[] {
  return node ? [node, ...(node.Plans ?? []).flatMap(nodesOf)] : [];
}

function rowsOf(node: PlanNode): number {
  return node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
}

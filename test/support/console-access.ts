/** Tables of what pages of the console's staff answer to each role. */
import type { TestApp } from './app.ts';
import { Visitor } from './console.ts';

/** One page, with the statuses that an operator, finance, a reader and a customer get. */
export interface AccessRow {
  readonly method: string;
  readonly path: string;
  readonly statuses: readonly number[];
}

/** Below a line of headings, each line has a method, a path, and a status for each role. */
export function readAccessTable(table: string): readonly AccessRow[] {
  const lines = table.trim().split('\n').slice(1);
  return lines.map((line) => {
    const [method = '', path = '', ...statuses] = line.trim().split(/\s+/);
    return { method, path, statuses: statuses.map(Number) };
  });
}

/** Somebody of each role, in the order of the tables, and with a form token of their own. */
export async function visitorsOfEveryRole(app: TestApp, customerAccountId: string): Promise<readonly Visitor[]> {
  const visitors = [
    await Visitor.invited(app, { email: 'operator@example.com', staff_role: 'operator' }),
    await Visitor.invited(app, { email: 'finance@example.com', staff_role: 'finance' }),
    await Visitor.invited(app, { email: 'readonly@example.com', staff_role: 'readonly' }),
    await Visitor.invited(app, { email: 'customer@example.com', account_id: customerAccountId }),
  ];
  for (const visitor of visitors) await visitor.get('/console/profile');
  return visitors;
}

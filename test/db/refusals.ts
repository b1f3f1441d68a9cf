/** Refusals of PostgreSQL, by the name of the rule. */
import type { Database } from '../../db/database.ts';

export interface Rules {
  /**
   * The rule that refuses a statement: the name of the constraint or trigger, or the SQLSTATE where there is none. A rule of
   * a partition has the name of the rule of the whole table.
   */
  refusing(statement: PromiseLike<unknown>): Promise<string>;
  /** The rules of the schema that have not refused anything yet. */
  untested(): readonly string[];
}

/** Reads the rules of the schema: its constraints except NOT NULL, its unique indexes and its triggers. */
export async function readRules(database: Database): Promise<Rules> {
  const { rows } = await database.raw<{ rows: { name: string; parent: string | null }[] }>(/* sql */ `
    SELECT rule.conname AS name, parent.conname AS parent
    FROM pg_constraint AS rule LEFT JOIN pg_constraint AS parent ON parent.oid = rule.conparentid
    WHERE rule.connamespace = 'public'::regnamespace AND rule.contype IN ('c', 'f', 'p', 'u')
    UNION
    SELECT rule.relname, parent.relname
    FROM pg_index JOIN pg_class AS rule ON rule.oid = indexrelid
      LEFT JOIN pg_inherits ON inhrelid = indexrelid LEFT JOIN pg_class AS parent ON parent.oid = inhparent
    WHERE indisunique AND rule.relnamespace = 'public'::regnamespace
    UNION
    SELECT tgname, tgname FROM pg_trigger WHERE NOT tgisinternal`);
  const ofWholeTable = new Map(rows.map(({ name, parent }) => [name, parent ?? name]));
  const untested = new Set([...ofWholeTable.values()].filter((name) => !name.startsWith('knex_')));
  return {
    refusing: async (statement) => {
      const error = await rejection(statement);
      const rule = ofWholeTable.get(error.constraint) ?? error.code;
      untested.delete(rule);
      return rule;
    },
    untested: () => [...untested].sort(),
  };
}

async function rejection(statement: PromiseLike<unknown>): Promise<{ constraint: string; code: string }> {
  try {
    await statement;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { constraint: textOf(error, 'constraint'), code: textOf(error, 'code') };
  }
  throw new Error('expected the database to refuse this');
}

function textOf(error: object, property: string): string {
  const value: unknown = Object.entries(error).find(([name]) => name === property)?.[1];
  return typeof value === 'string' ? value : '';
}

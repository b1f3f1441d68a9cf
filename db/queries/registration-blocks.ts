/** Blocks of registrations: see `db/schema/0013-signup-credit.sql`. */
import type { BlockKind } from '../../domain/registration.ts';
import type { Database } from '../database.ts';
import type { IdPage } from '../page.ts';
import { camelCased, type RowOf } from '../row.ts';
import type { Authorship } from './operator-actions.ts';

export interface RegistrationBlock extends Authorship {
  readonly id: string;
  readonly kind: BlockKind;
  /** A normal address, a domain, or a network in CIDR notation. */
  readonly value: string;
  readonly createdAt: Date;
  /** When, by whom and why the block was lifted; null for a block in force. */
  readonly liftedAt: Date | null;
  readonly liftedBy: string | null;
  readonly liftReason: string | null;
}

/** @returns false if the value is blocked already */
export async function insertRegistrationBlock(
  database: Database,
  block: Pick<RegistrationBlock, 'id' | 'kind' | 'value'>,
): Promise<boolean> {
  const inserted = await database('registration_blocks')
    .insert({ ...block })
    .onConflict(database.raw('(kind, value) WHERE lifted_at IS NULL'))
    .ignore()
    .returning('id');
  return inserted.length > 0;
}

/** @returns false if there is no such block, or it is lifted */
export async function liftRegistrationBlock(database: Database, id: string): Promise<boolean> {
  const changed = await database('registration_blocks')
    .where({ id })
    .whereNull('lifted_at')
    .update({ lifted_at: database.fn.now() });
  return changed > 0;
}

/** Lists the blocks in force, or the lifted ones, newest first. */
export async function listRegistrationBlocks(
  database: Database,
  { isLifted = false, id, before, limit }: IdPage & { readonly isLifted?: boolean | undefined; readonly id?: string },
): Promise<readonly RegistrationBlock[]> {
  const { rows } = await database.raw<{ rows: RowOf<RegistrationBlock>[] }>(
    /* sql */ `
    SELECT block.*, action.author, action.reason, lift.author AS lifted_by, lift.reason AS lift_reason
    FROM registration_blocks AS block
    JOIN operator_actions AS action ON action.registration_id = block.id AND action.kind = 'block'
    LEFT JOIN operator_actions AS lift ON lift.registration_id = block.id AND lift.kind = 'lift'
    WHERE (block.lifted_at IS NOT NULL) = :isLifted AND (:id::text IS NULL OR block.id = :id) AND (:before::text IS NULL OR block.id < :before)
    ORDER BY block.id DESC LIMIT :limit`,
    { isLifted, id: id ?? null, before: before ?? null, limit },
  );
  return rows.map((row) => camelCased(row));
}

/** Finds a block in force. */
export async function findRegistrationBlock(database: Database, id: string): Promise<RegistrationBlock | null> {
  const [block] = await listRegistrationBlocks(database, { id, limit: 1 });
  return block ?? null;
}

/**
 * Finds the kinds of blocks in force for a person.
 *
 * @param domains the domain of the address, and its parents
 * @param network the person's address or network
 */
export async function findBlockKinds(
  database: Database,
  {
    normalAddress,
    domains,
    network,
  }: { readonly normalAddress: string; readonly domains: readonly string[]; readonly network: string | null },
): Promise<ReadonlySet<BlockKind>> {
  const { rows } = await database.raw<{ rows: { kind: BlockKind }[] }>(
    /* sql */ `
    SELECT DISTINCT kind FROM registration_blocks
    WHERE lifted_at IS NULL AND CASE kind
      WHEN 'address' THEN value = :normalAddress
      WHEN 'domain' THEN value = ANY (:domains::text[])
      ELSE value::inet >>= :network::inet END`,
    { normalAddress, domains, network },
  );
  return new Set(rows.map(({ kind }) => kind));
}

/** Keeps people, domains and networks from registering. */
import ipaddr from 'ipaddr.js';
import type { Database } from '../../db/database.ts';
import { type Authorship, recordRegistrationAction } from '../../db/queries/operator-actions.ts';
import {
  findBlockKinds,
  insertRegistrationBlock,
  liftRegistrationBlock,
} from '../../db/queries/registration-blocks.ts';
import { findUser } from '../../db/queries/users.ts';
import { isEmailAddress } from '../../domain/email-address.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { domainOf, normalAddress, parentDomains } from '../../domain/normal-address.ts';
import { notFoundError } from '../../domain/not-found.ts';
import type { BlockKind } from '../../domain/registration.ts';
import { changeUser } from './users.ts';

/** A wider network would block a whole country. */
const MIN_PREFIX_BITS = { ipv4: 8, ipv6: 19 } as const;

/** What to block, as an operator writes it. */
export interface BlockRequest {
  readonly kind: BlockKind;
  readonly value: string;
}

/**
 * Blocks registrations. Users who have registered already stay.
 *
 * @returns the id of the block
 * @throws ServiceError `bad_request` for an invalid value, or one that is blocked already
 */
export function blockRegistrations(database: Database, request: BlockRequest, by: Authorship): Promise<string> {
  return database.transaction(async (transaction) => {
    const { kind } = request;
    const value = readValue(request);
    const id = newId('registrationBlock');
    if (!(await insertRegistrationBlock(transaction, { id, kind, value })))
      throw badRequest(`"value" is blocked already: ${value}`);
    await recordRegistrationAction(transaction, { registrationId: id, kind: 'block', ...by });
    return id;
  });
}

/**
 * Disables a user, and blocks their mailbox. The keys of their accounts keep working: suspend the accounts, too.
 *
 * @throws ServiceError `not_found`; `bad_request` if the mailbox is blocked already; `forbidden` for staff: an operator
 *   must not take another operator's access
 */
export function blockPerson(database: Database, userId: string, by: Authorship): Promise<string> {
  return database.transaction(async (transaction) => {
    const user = await findUser(transaction, userId);
    if (!user) throw notFoundError('user');
    if (user.staffRole !== null)
      throw new ServiceError('forbidden', 'Staff cannot be blocked here. Use the command "genway users".');
    await changeUser(transaction, userId, { disabled: true });
    return blockRegistrations(transaction, { kind: 'address', value: user.email }, by);
  });
}

/** @throws ServiceError `not_found` if there is no such block in force */
export function liftBlock(database: Database, id: string, by: Authorship): Promise<void> {
  return database.transaction(async (transaction) => {
    if (!(await liftRegistrationBlock(transaction, id))) throw notFoundError('registrationBlock');
    await recordRegistrationAction(transaction, { registrationId: id, kind: 'lift', ...by });
  });
}

/**
 * Returns the kinds of blocks in force for a person.
 *
 * @param network an address of IP, or a network in CIDR notation
 */
export function findBlocks(
  database: Database,
  { email, network }: { readonly email: string; readonly network: string },
): Promise<ReadonlySet<BlockKind>> {
  return findBlockKinds(database, {
    normalAddress: normalAddress(email),
    domains: parentDomains(domainOf(email)),
    network: parseNetwork(network),
  });
}

function readValue({ kind, value }: BlockRequest): string {
  const text = value.trim().toLowerCase();
  if (kind === 'address') {
    if (!isEmailAddress(text)) throw badRequest('"value" must be an e-mail address');
    return normalAddress(text);
  }
  if (kind === 'domain') {
    if (!isEmailAddress(`a@${text}`)) throw badRequest('"value" must be a domain such as example.com');
    return text;
  }
  const network = parseNetwork(text);
  if (network === null) throw badRequest('"value" must be a network such as 192.0.2.0/24 or 2001:db8::/32');
  return network;
}

/** The network in the form of PostgreSQL's `cidr`; null if it is none, or too wide. */
function parseNetwork(text: string): string | null {
  const [address = ''] = text.split('/');
  if (!ipaddr.isValid(address) || (text.includes('/') && !ipaddr.isValidCIDR(text))) return null;
  const [parsed, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : [ipaddr.process(text), null];
  const kind = parsed.kind();
  const prefix = bits ?? (kind === 'ipv4' ? 32 : 128);
  if (prefix < MIN_PREFIX_BITS[kind]) return null;
  const first =
    kind === 'ipv4'
      ? ipaddr.IPv4.networkAddressFromCIDR(`${parsed.toString()}/${prefix}`)
      : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${prefix}`);
  return `${first.toString()}/${prefix}`;
}

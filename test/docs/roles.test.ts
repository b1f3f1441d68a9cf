import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ADMIN_ROLES, hasMemberPermission, hasStaffPermission, MEMBER_ROLES } from '../../domain/roles.ts';

function documentOf(name: string): string {
  return readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');
}

/** The rows of the table of roles: each role with its cells by permission. */
function rolesIn(name: string): readonly (readonly string[])[] {
  const [, , rows = ''] = /\n\| role \|(.*)\n\|[-|]+\n((?:\|.*\n)+)/.exec(documentOf(name)) ?? [];
  return rows
    .trimEnd()
    .split('\n')
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.replaceAll('`', '').trim()),
    )
    .toSorted(([first = ''], [second = '']) => first.localeCompare(second));
}

const answer = (may: boolean): string => (may ? 'yes' : 'no');

describe('the documents about roles', () => {
  it('name every role of the staff in 4.11 of docs/contract.md', () => {
    // contract 4.11:2
    const [, section = ''] = documentOf('contract.md').split('### 4.11 ');
    for (const role of ADMIN_ROLES) expect(section).to.contain(`\`${role}\``);
  });

  it('list in docs/operations.md what each role of the staff may do', () => {
    const permissions = ['read', 'moveMoney', 'operate'] as const;
    const rows = ADMIN_ROLES.toSorted().map((role) => [
      role,
      ...permissions.map((permission) => answer(hasStaffPermission(role, permission))),
    ]);
    expect(rolesIn('operations.md')).to.deep.equal(rows);
  });

  it('list in docs/console.md what each role of a member may do', () => {
    const permissions = ['see', 'develop', 'pay', 'own'] as const;
    const rows = MEMBER_ROLES.toSorted().map((role) => [
      role,
      ...permissions.map((permission) => answer(hasMemberPermission(role, permission))),
    ]);
    expect(rolesIn('console.md')).to.deep.equal(rows);
  });
});

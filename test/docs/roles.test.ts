import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ADMIN_ROLES, MEMBER_ROLES } from '../../domain/roles.ts';

function documentOf(name: string): string {
  return readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');
}

describe('the documents about roles', () => {
  it('name every role of the staff in 4.11 of docs/contract.md', () => {
    // contract 4.11:2
    const [, section = ''] = documentOf('contract.md').split('### 4.11 ');
    for (const role of ADMIN_ROLES) expect(section).to.contain(`\`${role}\``);
  });

  it('have a row for every role: of the staff in docs/operations.md, of members in docs/console.md', () => {
    for (const role of ADMIN_ROLES) expect(documentOf('operations.md')).to.contain(`\n| \`${role}\` |`);
    for (const role of MEMBER_ROLES) expect(documentOf('console.md')).to.contain(`\n| \`${role}\` |`);
  });
});

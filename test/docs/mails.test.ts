import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { MAIL_KINDS } from '../../domain/mail.ts';

describe('docs/mails.md', () => {
  it('lists every kind of e-mail, those about security first', () => {
    const page = readFileSync(new URL('../../docs/mails.md', import.meta.url), 'utf8');
    const listed = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind);
    expect(listed).to.deep.equal(Object.keys(MAIL_KINDS));
  });
});

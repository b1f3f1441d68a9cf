import { expect } from 'chai';
import { useTestConsole, useVisitor, Visitor } from '../support/console.ts';

describe('views of lists', () => {
  const app = useTestConsole();
  const operator = useVisitor(app, () => ({ email: 'operator@example.com', staff_role: 'operator' }));
  const path = '/staff/tasks';
  const query = 'status=failed&model=vidone-3.0';
  const failed = { path, query, view: 'Failed <b>videos</b>' };
  const shown = '&lt;b&gt;videos&lt;/b&gt;</a>';
  const listAt = async (at: string): Promise<string> => (await operator.get(`/console${at}`)).text;

  it('are saved under a name, and link the list to its filters', async () => {
    expect(await listAt(path)).not.to.include('Save this view');
    expect(await listAt(`${path}?${query}`)).to.include('Save this view');
    const { headers } = await operator.send('/console/views', failed);
    expect(headers['location']).to.equal(`/console${path}?${query}`);
    expect(await listAt(path)).to.include(
      `<a href="/console${path}?status=failed&amp;model=vidone-3.0">Failed ${shown}`,
    );
    expect(await listAt('/staff/text-requests')).not.to.include(shown);
  });

  it('have a name of at most 60 characters, without a lone surrogate', async () => {
    const long = { ...failed, view: `${'v'.repeat(59)}😀` };
    expect((await operator.send('/console/views', long)).status).to.equal(303);
    expect(await listAt(path)).to.include(`>${'v'.repeat(59)}</a>`);
    await operator.send('/console/views/delete', long);
    expect(await listAt(path)).not.to.include('vvv');
  });

  it('belong to the user who saved them', async () => {
    const other = await Visitor.invited(app, { email: 'other@example.com', staff_role: 'operator' });
    expect((await other.get(`/console${path}`)).text).not.to.include(shown);
  });

  it('replace a view of the same page with the same name, and are deleted', async () => {
    await operator.send('/console/views', { ...failed, query: 'status=queued&cursor=x' });
    const text = await listAt(`${path}?status=queued&cursor=x`);
    expect(text).to.include(`href="/console${path}?status=queued" aria-current="true">Failed ${shown}`);
    expect(text).to.include('Delete this view').and.not.include('model=vidone-3.0');
    await operator.send('/console/views/delete', failed);
    expect(await listAt(path)).not.to.include(shown);
  });

  for (const elsewhere of ['//evil.test/', 'https://evil.test', '/staff/../../x', '', '/profile']) {
    it(`are not saved for ${elsewhere || 'no page'}`, async () => {
      const { headers } = await operator.send('/console/views', { ...failed, path: elsewhere });
      expect(headers['location']).to.equal('/console');
      const { rows } = await app.database.raw<{ rows: { count: string }[] }>(
        `SELECT count(*) FROM users WHERE saved_views::text LIKE '%evil%' OR saved_views::text LIKE '%..%'`,
      );
      expect(rows[0]?.count).to.equal('0');
    });
  }

  it('are at most fifty: a new one replaces the oldest', async () => {
    for (let number = 1; number <= 51; number += 1)
      await operator.send('/console/views', { ...failed, view: `view ${number}` });
    const text = await listAt(path);
    expect(text.match(/>view \d+</g)).to.have.length(50);
    expect(text).to.include('>view 51<').and.not.include('>view 1<');
  });
});

import { expect } from 'chai';
import { useTestConsole, Visitor } from '../support/console.ts';

describe('the page of models', () => {
  const app = useTestConsole();

  it('finds models by kind and a part of their name, with prices and a link to try each', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    const owner = await Visitor.invited(app, { email: 'owner@example.com', account_id: accountId });
    const path = `/console/accounts/${accountId}/models`;
    const shown = async (query: string): Promise<readonly string[]> => {
      const { text } = await owner.get(`${path}?${query}`);
      return [...text.matchAll(/playground\?model=([^"]+)"/g)].map(([, id = '']) => id);
    };
    expect(await shown('')).to.include.members(['vidone-3.0', 'textc-M3']);
    expect(await shown('model=VIDONE')).to.deep.equal(
      (await shown('kind=video')).filter((id) => id.includes('vidone')),
    );
    expect((await owner.get(path)).text).to.include('<a href="/docs/api#/Models" hreflang="en">API reference</a>');
    expect(await shown('kind=text&model=vidone')).to.deep.equal([]);
    expect((await owner.get(`${path}?model=vidone-3.0`)).text).to.match(/720p:<\/span> <span class="money">\$0\.10\/s/);
  });

  it('names prices and their conditions in the language of the reader', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    const owner = await Visitor.invited(app, { email: 'reader@example.com', account_id: accountId });
    await owner.setLanguage('zh');
    const { text } = await owner.get(`/console/accounts/${accountId}/models`);
    expect(text).to.include('$0.10/秒').and.include('缓存写入（1 小时）');
    expect(text).to.include('系数 周一 周二').and.include('× 1.6').and.not.include('usd per');
  });
});

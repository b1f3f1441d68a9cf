import { expect } from 'chai';
import { docsOf } from '../../../../api/docs-address.ts';
import { waitUntil } from '../../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../../support/eventually.ts';
import type { TestApp } from '../../../support/app.ts';
import { describeInBrowser } from '../../../support/browser.ts';
import { startTestConsole } from '../../../support/console.ts';

describeInBrowser('the reference of the API in a browser', (browser) => {
  let app: TestApp;
  before(async () => {
    app = await startTestConsole();
  });
  after(() => app?.stop());

  for (const tag of ['Capabilities', 'Models', 'Webhooks'] as const) {
    it(`opens at the endpoints with the tag ${tag}, to which links lead`, async () => {
      const tab = await browser.open(app.baseUrl);
      try {
        const { page } = tab;
        await page.goto(docsOf(tag));
        await page.locator(`[data-tag="${tag}"]`).waitFor();
        const place = `document.querySelector('[data-tag="${tag}"]').getBoundingClientRect().top`;
        // The page scrolls once the endpoints above are drawn.
        const seen = async () => expect(await page.evaluate<number>(place)).to.be.within(0, 450);
        await waitUntil(seen, { timeoutMs: PATIENCE_MS });
        expect(await page.evaluate<number>('scrollY')).to.be.above(0);
      } finally {
        await tab.close();
      }
    });
  }
});

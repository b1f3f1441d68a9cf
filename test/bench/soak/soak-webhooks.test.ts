import { expect } from 'chai';
import { soakWebhooks } from '../../../bench/soak/soak-webhooks.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

describe('bench/soak/soak-webhooks', () => {
  let stack: TestStack;

  before(async function () {
    this.timeout(120_000);
    stack = await startTestStack({ env: { GENWAY_MAX_CONCURRENT_TASKS: '1000' } });
    await Promise.all([stack.api.start(), stack.worker.start()]);
  });
  after(async function () {
    this.timeout(60_000);
    await stack.stop();
  });

  it('finds each of thirty tasks told of once and paid or refunded once', async function () {
    this.timeout(90_000);
    const { baseUrl, adminToken } = stack;
    const counts = await soakWebhooks({
      baseUrl,
      adminToken,
      tasks: 30,
      accounts: 3,
      atOnce: 15,
      timeoutMs: 60_000,
      quietMs: 500,
    });
    expect(counts).to.have.length.above(5);
    for (const { what, expected, found } of counts) expect(found, what).to.equal(expected);
    expect(counts.at(-1)).to.include({ what: 'refunds among them', found: 3 });
  });
});

import { rm } from 'node:fs/promises';
import { expect } from 'chai';
import { createTestDatabase } from '../../support/database.ts';
import {
  type Demo,
  newPlace,
  readDemo,
  readPids,
  startBuilt,
  TIMEOUT_MS,
  waitUntilReady,
} from '../../support/local-stack.ts';
import { createTestNamespace, testTemporalAddress, testWorkflowBundle } from '../../support/services.ts';

describe('npm start', function () {
  this.timeout(TIMEOUT_MS);

  it('runs next to another stack on other ports and in another folder, even on existing servers', async () => {
    const [place, bundle] = await Promise.all([newPlace(), testWorkflowBundle()]);
    const output: string[] = [];
    const stack = await startBuilt({ ...place, GENWAY_WORKFLOW_BUNDLE: bundle }, output);
    await waitUntilReady(stack, place, output);
    const [database, temporalAddress] = await Promise.all([createTestDatabase(), testTemporalAddress()]);
    const other = {
      ...(await newPlace()),
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: await createTestNamespace(),
      GENWAY_WORKFLOW_BUNDLE: bundle,
    };
    const lines: string[] = [];
    const second = await startBuilt(other, lines);
    await waitUntilReady(second, other, lines);
    const [mine, its] = [readDemo(place), readDemo(other)];
    expect(its).to.include({ database_url: database.url, temporal_address: temporalAddress });
    expect(readPids(other)).to.have.all.keys('supervisor', 'simulator', 'api', 'text', 'worker');
    const [myKey, itsKey] = [mine, its].map(({ accounts }) => accounts['funded']?.api_key);
    const statuses = [statusFor(mine, myKey), statusFor(its, itsKey), statusFor(mine, itsKey), statusFor(its, myKey)];
    expect(await Promise.all(statuses)).to.deep.equal([200, 200, 401, 401]);
    await second.stop(TIMEOUT_MS);
    expect(await second.exited).to.equal(0);
    expect(await statusFor(mine, myKey)).to.equal(200);
    await stack.stop(TIMEOUT_MS);
    await database.drop();
    await Promise.all([place, other].map(({ GENWAY_HOME: home }) => rm(home, { recursive: true })));
  });
});

/** The status with which a stack answers a request for an account's balance with that key. */
async function statusFor(demo: Demo, apiKey: string | undefined): Promise<number> {
  const response = await fetch(`${demo.base_url}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
  return response.status;
}

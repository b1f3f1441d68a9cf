import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../db/database.ts';
import {
  type Claim,
  claimIdempotencyKey,
  completeIdempotencyKey,
  releaseIdempotencyKey,
} from '../../../db/queries/idempotency.ts';
import { SWEEPS } from '../../../db/sweeps.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';

const REQUEST = randomBytes(32);
const OTHER_REQUEST = randomBytes(32);
const KEY = 'order 42 / ✓';

describe('the store of idempotency keys', () => {
  let database: Database;
  let accountId: string;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  beforeEach(async () => {
    accountId = (await createAccount(database)).id;
  });

  const claim = (requestDigest = REQUEST): Promise<Claim> =>
    claimIdempotencyKey(database, { accountId, key: KEY, requestDigest, leaseSeconds: 60 });

  async function claimToken(): Promise<string> {
    const claimed = await claim();
    if (claimed.outcome !== 'claimed') throw new Error(`the key is ${claimed.outcome}`);
    return claimed.claimToken;
  }

  const complete = (token: string): Promise<boolean> =>
    completeIdempotencyKey(database, {
      accountId,
      key: KEY,
      claimToken: token,
      status: 201,
      encryptedBody: Buffer.from('first response'),
    });

  /** Moves the row in time, instead of waiting. */
  const setTime = (column: 'lease_until' | 'expires_at', fromNow: string): PromiseLike<number> =>
    database('idempotency_keys')
      .where({ account_id: accountId })
      .update({ [column]: database.raw('now() + ?::interval', [fromNow]) });

  it('does not release another request’s claim, or a stored response', async () => {
    const token = await claimToken();
    await releaseIdempotencyKey(database, { accountId, key: KEY, claimToken: crypto.randomUUID() });
    expect((await claim()).outcome).to.equal('in_progress');
    await complete(token);
    await releaseIdempotencyKey(database, { accountId, key: KEY, claimToken: token });
    expect((await claim()).outcome).to.equal('replay');
  });

  it('lets another request take over when the lease has ended, after which the first cannot complete', async () => {
    const dead = await claimToken();
    await setTime('lease_until', '0 seconds');
    const successor = await claim(OTHER_REQUEST);
    expect(successor.outcome).to.equal('claimed');
    expect(await complete(dead)).to.equal(false);
    expect(await claim(OTHER_REQUEST)).to.deep.equal({ outcome: 'in_progress' });
  });

  it('lets one of many requests take over', async () => {
    await claim();
    await setTime('lease_until', '-1 second');
    const outcomes = (await Promise.all(Array.from({ length: 20 }, () => claim()))).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'claimed').length).to.equal(1);
  });

  it('completes a claim once', async () => {
    const token = await claimToken();
    expect(await complete(token)).to.equal(true);
    expect(await complete(token)).to.equal(false);
  });

  it('completes a claim whose lease has ended, if no request took it over', async () => {
    const token = await claimToken();
    await setTime('lease_until', '-1 hour');
    expect(await complete(token)).to.equal(true);
    expect((await claim()).outcome).to.equal('replay');
  });

  it('removes only rows that can no longer be replayed or completed', async () => {
    await database('idempotency_keys').delete();
    await complete(await claimToken());
    expect(await SWEEPS['idempotency keys']?.(database, 10)).to.equal(0);
    await setTime('expires_at', '-2 hours');
    accountId = (await createAccount(database)).id;
    await claim();
    expect(await SWEEPS['idempotency keys']?.(database, 10)).to.equal(1);
    expect((await claim()).outcome).to.equal('in_progress');
    await setTime('lease_until', '-2 hours');
    expect(await SWEEPS['idempotency keys']?.(database, 10)).to.equal(1);
  });
});

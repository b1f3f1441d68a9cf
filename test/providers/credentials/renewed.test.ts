import { expect } from 'chai';
import { CredentialsError } from '../../../providers/credentials/credentials.ts';
import { type Expiring, Renewed } from '../../../providers/credentials/renewed.ts';
import { rejectionOf } from '../../support/rejection.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** A token service whose answers and clock a test controls. */
function tokenService() {
  const state = { nowMs: 1_000_000, count: 0, failure: null as Error | null };
  const fetch = async (): Promise<Expiring<string>> => {
    state.count += 1;
    if (state.failure !== null) throw state.failure;
    return { value: `token ${state.count}`, expiresAtMs: state.nowMs + HOUR_MS };
  };
  return { state, token: new Renewed(fetch, ['s3cret-value'], { nowMs: () => state.nowMs }) };
}

async function failureOf(promise: Promise<unknown>): Promise<CredentialsError> {
  const error = await rejectionOf(promise);
  if (error instanceof CredentialsError) return error;
  throw error;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a token that expires', () => {
  it('is fetched once for all requests that wait for it', async () => {
    const { state, token } = tokenService();
    const tokens = await Promise.all(Array.from({ length: 50 }, () => token.get()));
    expect(new Set(tokens)).to.deep.equal(new Set(['token 1']));
    expect(state.count).to.equal(1);
  });

  it('is renewed ahead of its end while requests go on with it', async () => {
    const { state, token } = tokenService();
    await token.get();
    state.nowMs += HOUR_MS - 4 * MINUTE_MS;
    expect(await token.get()).to.equal('token 1');
    await settled();
    expect(await token.get()).to.equal('token 2');
    expect(state.count).to.equal(2);
  });

  it('is kept through an outage of the token service until its end', async () => {
    const { state, token } = tokenService();
    await token.get();
    state.failure = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    for (let minutes = 56; minutes < 59; minutes += 1) {
      state.nowMs = 1_000_000 + minutes * MINUTE_MS;
      expect(await token.get()).to.equal('token 1');
      await settled();
    }
    expect(state.count).to.equal(4);
    state.nowMs += 2 * MINUTE_MS;
    const error = await failureOf(token.get());
    expect(error.isRefused).to.equal(false);
    state.failure = null;
    state.nowMs += MINUTE_MS;
    expect(await token.get()).to.equal('token 6');
  });

  it('is not fetched again within the pause after a failure', async () => {
    const { state, token } = tokenService();
    state.failure = Object.assign(new Error('invalid_grant'), { status: 400 });
    const errors: CredentialsError[] = [];
    for (let count = 0; count < 20; count += 1) errors.push(await failureOf(token.get()));
    expect(state.count).to.equal(1);
    expect(errors.every(({ isRefused }) => isRefused)).to.equal(true);
    state.nowMs += 6_000;
    await failureOf(token.get());
    expect(state.count).to.equal(2);
  });

  it('is renewed when an upstream refuses it, but not if it is new', async () => {
    const { state, token } = tokenService();
    await token.get();
    token.renew();
    await settled();
    expect(state.count).to.equal(1);
    state.nowMs += MINUTE_MS;
    token.renew();
    await settled();
    expect(await token.get()).to.equal('token 2');
  });

  it('reports failures without secrets and without the request of the library', async () => {
    const { state, token } = tokenService();
    state.failure = Object.assign(new Error('bad secret s3cret-value'), { config: { data: 's3cret-value' } });
    const error = await failureOf(token.get());
    expect(error.message).to.equal('no token: bad secret [secret]');
    expect(error.cause).to.equal(undefined);
  });
});

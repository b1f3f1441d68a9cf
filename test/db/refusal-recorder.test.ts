import { expect } from 'chai';
import { pino } from 'pino';
import type { Database } from '../../db/database.ts';
import { CONTENT_SWEEPS, eraseContent } from '../../db/queries/content.ts';
import {
  findRefusedCall,
  listRefusedCalls,
  recordRefusedCalls,
  type RefusedCall,
} from '../../db/queries/refused-calls.ts';
import { createRefusalRecorder, type RefusalRecorder } from '../../db/refusal-recorder.ts';
import { REFUSED_CALLS } from '../../domain/policy.ts';
import { newId } from '../../domain/ids.ts';
import { useTestDatabase } from '../support/database.ts';
import { createAccount } from '../support/factories.ts';

describe('the recorder of refused calls', () => {
  let database: Database;
  let call: RefusedCall;
  let recorders: readonly RefusalRecorder[];

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  beforeEach(async () => {
    const { id: accountId } = await createAccount(database);
    call = newCall(accountId);
    const log = pino({ level: 'silent' });
    recorders = [createRefusalRecorder(database, log), createRefusalRecorder(database, log)];
  });
  afterEach(() => Promise.all(recorders.map((recorder) => recorder.stop())));

  const newCall = (accountId: string): RefusedCall => ({
    accountId,
    apiKeyId: newId('apiKey'),
    method: 'POST',
    path: '/v1/videos/tasks',
    status: 402,
    code: 'insufficient_balance',
    requestId: newId('request'),
    reason: 'The balance is too low.',
  });

  const flush = () => Promise.all(recorders.map((recorder) => recorder.flush()));
  const list = () => listRefusedCalls(database, call);
  const sum = async () => (await list()).reduce((total, { calls }) => total + calls, 0);

  it('counts equal calls of all processes in one row, with the latest reason', async () => {
    for (const recorder of recorders) for (let made = 0; made < 3; made += 1) recorder.record(call);
    await flush();
    recorders[0]?.record({ ...call, reason: 'later' });
    await flush();
    const [row, ...others] = await list();
    // The hour may have ended between the two batches.
    expect(others.length).to.be.lessThan(2);
    expect(row).to.include({ method: 'POST', path: call.path, status: 402, code: call.code, reason: 'later' });
    expect(await sum()).to.equal(7);
  });

  it('finds each of the latest calls of a row by its request, with its own reason', async () => {
    const made = Array.from({ length: REFUSED_CALLS.maxRequests + 2 }, (_, index) => ({
      ...call,
      status: 400,
      requestId: newId('request'),
      reason: `reason ${index}`,
    }));
    for (const [index, one] of made.entries()) {
      recorders[0]?.record(one);
      if (index % 4 === 3) await flush();
    }
    await flush();
    const found = await Promise.all(made.map(({ requestId }) => findRefusedCall(database, requestId)));
    expect(found.map((one) => one?.reason ?? null)).to.deep.equal([
      null,
      null,
      ...made.slice(2).map(({ reason }) => reason),
    ]);
    expect(found.at(-1)).to.include({ accountId: call.accountId, apiKeyId: call.apiKeyId, status: 400 });
    expect((await list())[0]).to.include({ requestId: made.at(-1)?.requestId, reason: made.at(-1)?.reason });
    await database.transaction((transaction) => eraseContent(transaction, call.accountId));
    expect(await findRefusedCall(database, made.at(-1)?.requestId ?? '')).to.equal(null);
  });

  it('costs a few rows in a flood of different paths, and counts all of its calls', async () => {
    for (let made = 0; made < 5_000; made += 1) recorders[0]?.record({ ...call, path: `/v1/${made}` });
    await flush();
    const rows = await list();
    expect(rows.length).to.be.within(2, 20);
    expect(rows.filter(({ path, method }) => path === '' && method === '')).to.have.length(1);
    expect(await sum()).to.equal(5_000);
  });

  it('stores any text, shortened', async () => {
    const odd = `\0\uD800\n${'😀'.repeat(REFUSED_CALLS.maxText)}`;
    recorders[0]?.record({ ...call, path: odd, reason: odd });
    await flush();
    expect((await list())[0]?.reason).to.match(/^\uFFFD\n(?:😀)+\uFFFD?$/u);
  });

  it('keeps the newest rows of a key and of an account, and none beyond the limits', async () => {
    const { perKey, perAccount } = REFUSED_CALLS;
    const calls = ({ requestId, reason, ...of }: RefusedCall, count: number) =>
      Array.from({ length: count }, (_, index) => {
        const row = { ...of, path: `/${index}`, calls: 1, requestIds: [requestId], reasons: [reason] };
        return { ...row, ageMs: index * 1000 };
      });
    await recordRefusedCalls(database, calls(call, perKey + 20));
    const paths = (await list()).map(({ path }) => path);
    expect(paths).to.deep.equal(Array.from({ length: perKey }, (_, index) => `/${index}`));
    for (let made = 0; made <= perAccount / perKey; made += 1)
      await recordRefusedCalls(database, calls({ ...call, apiKeyId: newId('apiKey') }, perKey));
    const stored = await database('refused_calls').where({ account_id: call.accountId });
    expect(stored).to.have.length(perAccount);
  });

  it('lists nothing from before an erasure, which deletes the rows', async () => {
    recorders[0]?.record(call);
    await flush();
    const other = newCall((await createAccount(database)).id);
    recorders[0]?.record(other);
    await flush();
    await database.transaction((transaction) => eraseContent(transaction, call.accountId));
    expect(await list()).to.deep.equal([]);
    await CONTENT_SWEEPS['refused calls of accounts'](database, 100);
    expect(await database('refused_calls').where({ account_id: call.accountId })).to.deep.equal([]);
    expect(await listRefusedCalls(database, other)).to.have.length(1);
  });

  it('lists calls of the given account and key only', async () => {
    recorders[0]?.record(call);
    await flush();
    const { id: accountId } = await createAccount(database);
    expect(await listRefusedCalls(database, { ...call, accountId })).to.deep.equal([]);
    expect(await listRefusedCalls(database, { ...call, apiKeyId: newId('apiKey') })).to.deep.equal([]);
  });
});

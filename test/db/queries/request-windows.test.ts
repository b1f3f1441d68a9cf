import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import {
  type CountedRequest,
  countRequests,
  readRequestCounts,
  type RequestWindow,
} from '../../../db/queries/request-windows.ts';
import { SWEEPS } from '../../../db/sweeps.ts';
import { newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';
import { withinOneMinute } from '../../support/one-minute.ts';

/** A request that creates something. */
const write = (apiKeyId: string): CountedRequest => ({ apiKeyId, reads: false });
const positions = (windows: readonly RequestWindow[]): number[] => windows.map(({ position }) => position);

describe('the count of requests per minute', () => {
  let database: Database;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  it('numbers the requests of each key in their order', async () => {
    const counted = await withinOneMinute(database, async () => {
      const [a, b] = [write(newId('apiKey')), write(newId('apiKey'))];
      return [await countRequests(database, [a, b, a, a, b]), await countRequests(database, [b, a])];
    });
    expect(counted.map(positions)).to.deep.equal([
      [1, 1, 2, 3, 2],
      [3, 4],
    ]);
  });

  it('counts reading requests separately', async () => {
    const counted = await withinOneMinute(database, async () => {
      const apiKeyId = newId('apiKey');
      const [reading, writing] = [{ apiKeyId, reads: true }, write(apiKeyId)];
      return [
        await countRequests(database, [reading, writing, reading, reading, writing]),
        await countRequests(database, [writing, reading]),
      ];
    });
    expect(counted.map(positions)).to.deep.equal([
      [1, 1, 2, 3, 2],
      [3, 4],
    ]);
  });

  it('assigns every position once and skips none, however many processes count at the same time', async () => {
    // contract 8.1:6
    const [a, b] = [write(newId('apiKey')), write(newId('apiKey'))];
    const counted = await withinOneMinute(database, async () => {
      await database('request_windows').delete();
      const batches = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? [a, b] : [b, a]));
      const windows = await Promise.all(batches.map((batch) => countRequests(database, [...batch, ...batch])));
      return windows.flatMap((counted) => positions(counted));
    });
    // Both keys have equally many requests, so each position from 1 to 40 is assigned twice.
    const twice = Array.from({ length: 40 }, (_, index) => [index + 1, index + 1]).flat();
    expect(counted.toSorted((left, right) => left - right)).to.deep.equal(twice);
  });

  it('reads the positions without counting if it is unknown whether they were counted', async () => {
    const told = await withinOneMinute(database, async () => {
      const [a, b] = [write(newId('apiKey')), write(newId('apiKey'))];
      await countRequests(database, [a, a, a]);
      const counts = [await readRequestCounts(database, [a, b, a]), await readRequestCounts(database, [a])];
      return counts.map(positions);
    });
    expect(told).to.deep.equal([[2, 0, 3], [3]]);
  });

  it('reports how long the minute lasts', async () => {
    const [window] = await countRequests(database, [write(newId('apiKey'))]);
    expect(window?.secondsLeft).to.be.within(1, 60);
  });

  it('accepts an empty batch', async () => {
    expect(await countRequests(database, [])).to.deep.equal([]);
  });

  it('restarts each minute, and forgets past minutes', async () => {
    // contract 8.1:6
    const key = newId('apiKey');
    await countRequests(database, [write(key)]);
    await database('request_windows').update({ window_start: database.raw(`window_start - interval '11 minutes'`) });
    expect(positions(await countRequests(database, [write(key)]))).to.deep.equal([1]);
    const past = await database('request_windows').whereRaw(`window_start < now() - interval '10 minutes'`);
    expect(await SWEEPS['request windows']?.(database, 1_000)).to.equal(past.length);
    expect(await database('request_windows').where({ api_key_id: key })).to.have.length(1);
  });
});

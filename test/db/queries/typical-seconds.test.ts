import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { findTypicalSeconds } from '../../../db/queries/typical-seconds.ts';
import { createdAtMsOf, newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createFundedKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  type TestKey,
} from '../../support/factories.ts';

const DAY_SECONDS = 24 * 60 * 60;

describe('db/queries/typical-seconds', () => {
  let database: Database;
  let key: TestKey;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  before(async () => {
    key = await createFundedKey(database, 1_000);
  });

  /** Tasks of a model that complete now and started this many seconds ago each. */
  async function finishTasks(model: string, seconds: readonly number[], finish = finishAsSucceeded): Promise<void> {
    const now = Date.now();
    for (const taken of seconds) {
      const id = newId('task', now - taken * 1_000);
      await finish(database, await createTaskRow(database, key, { id, model }));
    }
  }

  it('returns nothing for fewer than ten tasks', async () => {
    // contract 2.1:11
    await finishTasks(
      'few',
      Array.from({ length: 9 }, () => 30),
    );
    expect(await findTypicalSeconds(database, 'few')).to.equal(null);
  });

  it('returns the duration that half and nine tenths of the tasks stayed below, in whole seconds', async () => {
    // contract 2.1:11
    // Each task takes slightly longer than its listed seconds by the time that it completes.
    await finishTasks('many', [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110]);
    const typical = await findTypicalSeconds(database, 'many');
    expect(typical?.samples).to.equal(11);
    expect(typical?.p50).to.be.within(60, 70);
    expect(typical?.p90).to.be.within(100, 110);
  });

  it('counts no failures, no other models and no tasks older than a day', async () => {
    // contract 2.1:11
    await finishTasks(
      'mixed',
      Array.from({ length: 9 }, () => 30),
    );
    await finishTasks('mixed', [30], finishAsFailed);
    await finishTasks('mixed', [3 * DAY_SECONDS]);
    await finishTasks('other', [30]);
    expect(await findTypicalSeconds(database, 'mixed')).to.equal(null);
    await finishTasks('mixed', [30]);
    expect(await findTypicalSeconds(database, 'mixed')).to.include({ samples: 10 });
  });

  it('counts no tasks that claimed a late result', async () => {
    // contract 2.1:25
    await finishTasks(
      'late',
      Array.from({ length: 10 }, () => 30),
    );
    const id = newId('task');
    const createdAt = new Date(createdAtMsOf('task', id));
    await finishAsSucceeded(database, await createTaskRow(database, key, { id, model: 'late', deadlineAt: createdAt }));
    expect(await findTypicalSeconds(database, 'late')).to.include({ samples: 10 });
  });

  it('uses the latest 200 tasks', async () => {
    // contract 2.1:11
    await finishTasks('busy', [...Array.from({ length: 30 }, () => 90), ...Array.from({ length: 200 }, () => 10)]);
    const typical = await findTypicalSeconds(database, 'busy');
    expect(typical?.samples).to.equal(200);
    expect(typical?.p90).to.be.lessThan(60);
  });

  it('never returns less than a second', async () => {
    await finishTasks(
      'quick',
      Array.from({ length: 10 }, () => 0),
    );
    expect(await findTypicalSeconds(database, 'quick'))
      .to.have.property('p50')
      .that.is.at.least(1);
  });
});

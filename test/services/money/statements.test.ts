import { expect } from 'chai';
import { createReadStatement, createReportQueue } from '../../../services/money/statements.ts';
import type { Database } from '../../../db/database.ts';
import type { Statement } from '../../../db/queries/statements.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { useTestDatabase } from '../../support/database.ts';
import { rejectionOf } from '../../support/rejection.ts';

const EMPTY: Statement = {
  opening: { available: 0n, reserved: 0n },
  activity: [],
  closing: { available: 0n, reserved: 0n },
};
const PERIOD = { from: new Date(0), to: new Date(1) };

describe('statements', () => {
  const testDatabase = useTestDatabase();

  it('are read one at a time for an account, and leave a connection for the reports of others', async () => {
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const read = async (_reports: Database, { accountId }: { accountId: string }): Promise<Statement> => {
      started.push(accountId);
      await new Promise<void>((resolve) => ends.push(resolve));
      return EMPTY;
    };
    const queueReport = createReportQueue();
    const readStatement = createReadStatement(testDatabase.database, queueReport, read);
    const asked = ['busy', 'busy', 'busy', 'other', 'third'].map((accountId) =>
      readStatement({ accountId, ...PERIOD }),
    );
    expect(started).to.deep.equal(['busy', 'other']);
    ends[1]?.();
    await asked[3];
    await new Promise(setImmediate);
    expect(started, 'the third account before the second statement of the first').to.deep.equal([
      'busy',
      'other',
      'third',
    ]);
    let isRead = false;
    const margins = queueReport('tok_1', async () => {
      isRead = true;
    });
    await new Promise(setImmediate);
    expect(isRead, 'a report over all accounts waits, too').to.equal(false);
    ends[2]?.();
    await margins;
    ends[0]?.();
    await asked[0];
    await new Promise(setImmediate);
    expect(started.at(-1)).to.equal('busy');
    const more = Array.from({ length: 6 }, () => readStatement({ accountId: 'busy', ...PERIOD }));
    const refusal = await rejectionOf(more[5] ?? Promise.resolve());
    expect(refusal).to.be.instanceOf(ServiceError).with.property('code', 'rate_limit_exceeded');
  });

  it('fail alone, and do not block the next one', async () => {
    const readStatement = createReadStatement(testDatabase.database, createReportQueue());
    const wrong = readStatement({ accountId: '\0', ...PERIOD });
    expect(await rejectionOf(wrong)).to.be.instanceOf(Error);
    expect(await readStatement({ accountId: 'acc_1', ...PERIOD })).to.deep.equal(EMPTY);
  });
});

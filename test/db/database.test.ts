import { expect } from 'chai';
import { isUnstorable } from '../../db/database.ts';
import { useTestDatabase } from '../support/database.ts';
import { rejectionOf } from '../support/rejection.ts';

describe('isUnstorable', () => {
  const opened = useTestDatabase();

  for (const [type, value, expected] of [
    ['text', 'a\0b', true],
    ['jsonb', '{"\\udc00": 1}', true],
    ['jsonb', '"\\u0000"', true],
    ['bigint', 'five', false],
    ['date', '2026-13-01', false],
  ] as const) {
    it(`is ${expected} for ${JSON.stringify(value)} as ${type}`, async () => {
      const error = await rejectionOf(Promise.resolve(opened.database.raw(`SELECT CAST(? AS ${type})::text`, [value])));
      expect(isUnstorable(error), String(error)).to.equal(expected);
    });
  }
});

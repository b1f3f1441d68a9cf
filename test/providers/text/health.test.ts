import { expect } from 'chai';
import { Health } from '../../../providers/text/health.ts';

const NOW_MS = 1_000_000;

function afterFailures(count: number): Health {
  const health = new Health();
  for (let failure = 0; failure < count; failure += 1) health.noteFailure(NOW_MS);
  return health;
}

describe('the health of an upstream', () => {
  it('lets it rest for ten seconds after five failures in a row', () => {
    expect(afterFailures(4).rests(NOW_MS)).to.equal(false);
    const health = afterFailures(5);
    expect([health.rests(NOW_MS), health.rests(NOW_MS + 9_999), health.rests(NOW_MS + 10_000)]).to.deep.equal([
      true,
      true,
      false,
    ]);
  });

  it('lets it rest again at once when it fails after its rest', () => {
    const health = afterFailures(5);
    health.noteFailure(NOW_MS + 20_000);
    expect(health.rests(NOW_MS + 20_001)).to.equal(true);
  });

  it('forgets failures with a success', () => {
    const health = afterFailures(5);
    health.noteSuccess();
    expect(health.rests(NOW_MS)).to.equal(false);
    health.noteFailure(NOW_MS);
    expect(health.rests(NOW_MS)).to.equal(false);
  });
});

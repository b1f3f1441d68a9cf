import { expect } from 'chai';
import { type MediaOutcome, type MediaVerdict, mediaHealthOf } from '../../domain/media-health.ts';

const SECOND_MS = 1_000;

/** A submission that was made at some second and answered at once. */
function at(second: number, verdict: MediaVerdict): MediaOutcome {
  return { submittedAtMs: second * SECOND_MS, settledAtMs: second * SECOND_MS, verdict };
}

/** One whose outcome is not known yet. */
function open(second: number): MediaOutcome {
  return { submittedAtMs: second * SECOND_MS, settledAtMs: null, verdict: null };
}

function standingAt(second: number, outcomes: readonly MediaOutcome[]): string {
  return mediaHealthOf(outcomes, second * SECOND_MS).standing;
}

const FIVE_FAULTS = [0, 1, 2, 3, 4].map((second) => at(second, 'failed'));

describe('the health of a media route', () => {
  it('is well without faults', () => {
    expect(standingAt(1, [])).to.equal('ready');
    expect(standingAt(1, [at(0, 'well')])).to.equal('ready');
  });

  it('rests after five faults in a row, for ten seconds', () => {
    expect(standingAt(5, FIVE_FAULTS.slice(1))).to.equal('ready');
    expect(standingAt(13, FIVE_FAULTS)).to.equal('resting');
    expect(standingAt(14, FIVE_FAULTS)).to.equal('due');
    expect(mediaHealthOf(FIVE_FAULTS, 5_000).rest).to.deep.equal({ cause: 'failed', sinceMs: 4_000, untilMs: 14_000 });
  });

  it('rests at once when our access is refused', () => {
    expect(mediaHealthOf([at(0, 'access_refused')], 1_000)).to.deep.equal({
      standing: 'resting',
      rest: { cause: 'access_refused', sinceMs: 0, untilMs: 10_000 },
    });
  });

  it('takes too many requests at once for load, not for a fault', () => {
    const busy = [0, 1, 2, 3, 4, 5, 6].map((second) => at(second, 'busy'));
    expect(standingAt(7, busy)).to.equal('ready');
    expect(standingAt(7, [...FIVE_FAULTS.slice(1), ...busy])).to.equal('ready');
  });

  it('counts faults from the last success on', () => {
    expect(standingAt(6, [...FIVE_FAULTS.slice(0, 4), at(3.5, 'well'), at(4, 'failed'), at(5, 'failed')])).to.equal(
      'ready',
    );
  });

  it('ends a rest by one trial, which others wait for, but not for ever', () => {
    expect(standingAt(15, [...FIVE_FAULTS, open(14)])).to.equal('tried');
    expect(standingAt(75, [...FIVE_FAULTS, open(14)])).to.equal('due');
    expect(standingAt(15, [...FIVE_FAULTS, open(13)]), 'sent during the rest').to.equal('due');
    expect(standingAt(16, [...FIVE_FAULTS, at(15, 'well')])).to.equal('ready');
  });

  it('stays open for ten seconds six times in a row, then twice as long each time, for a minute at most', () => {
    const outcomes = [...FIVE_FAULTS];
    let untilSecond = 14;
    for (const restSeconds of [10, 10, 10, 10, 10, 20, 40, 60, 60]) {
      outcomes.push(at(untilSecond, 'failed'));
      untilSecond += restSeconds;
      expect(mediaHealthOf(outcomes, untilSecond * SECOND_MS).rest?.untilMs).to.equal(untilSecond * SECOND_MS);
    }
  });

  it('does not lengthen a rest by what was sent before its end, nor end it by what was sent before it began', () => {
    const late = { submittedAtMs: 1_000, settledAtMs: 6_000 };
    for (const verdict of ['failed', 'well'] as const) {
      const { rest } = mediaHealthOf([...FIVE_FAULTS, { ...late, verdict }], 7_000);
      expect(rest?.untilMs, verdict).to.equal(14_000);
    }
  });

  it('ends a rest by a success during it', () => {
    expect(standingAt(8, [...FIVE_FAULTS, at(7, 'well')])).to.equal('ready');
  });
});

import { expect } from 'chai';
import { type MediaOutcome, type MediaVerdict, mediaHealthOf } from '../../domain/media-health.ts';

const SECOND_MS = 1_000;

/** A submission that was sent at this second and answered at once. */
function at(second: number, verdict: MediaVerdict): MediaOutcome {
  return { submittedAtMs: second * SECOND_MS, settledAtMs: second * SECOND_MS, verdict };
}

/** A submission whose outcome is not known yet. */
function open(second: number): MediaOutcome {
  return { submittedAtMs: second * SECOND_MS, settledAtMs: null, verdict: null };
}

function stateAt(second: number, outcomes: readonly MediaOutcome[]): string {
  return mediaHealthOf(outcomes, second * SECOND_MS).state;
}

const FIVE_FAULTS = [0, 1, 2, 3, 4].map((second) => at(second, 'failed'));

describe('the health of a media route', () => {
  it('has a closed circuit without faults', () => {
    expect(stateAt(1, [])).to.equal('closed');
    expect(stateAt(1, [at(0, 'well')])).to.equal('closed');
  });

  it('opens its circuit after five faults in a row, for ten seconds', () => {
    expect(stateAt(5, FIVE_FAULTS.slice(1))).to.equal('closed');
    expect(stateAt(13, FIVE_FAULTS)).to.equal('open');
    expect(stateAt(14, FIVE_FAULTS)).to.equal('half-open');
    expect(mediaHealthOf(FIVE_FAULTS, 5_000).opening).to.deep.equal({
      cause: 'failed',
      sinceMs: 4_000,
      untilMs: 14_000,
    });
  });

  it('opens its circuit at once when our access is refused', () => {
    expect(mediaHealthOf([at(0, 'access_refused')], 1_000)).to.deep.equal({
      state: 'open',
      opening: { cause: 'access_refused', sinceMs: 0, untilMs: 10_000 },
    });
  });

  it('treats 429 as load, not as a fault', () => {
    const busy = [0, 1, 2, 3, 4, 5, 6].map((second) => at(second, 'busy'));
    expect(stateAt(7, busy)).to.equal('closed');
    expect(stateAt(7, [...FIVE_FAULTS.slice(1), ...busy])).to.equal('closed');
  });

  it('counts faults since the last success', () => {
    expect(stateAt(6, [...FIVE_FAULTS.slice(0, 4), at(3.5, 'well'), at(4, 'failed'), at(5, 'failed')])).to.equal(
      'closed',
    );
  });

  it('lets one probe through after an opening, for which others wait, but not for ever', () => {
    expect(stateAt(15, [...FIVE_FAULTS, open(14)])).to.equal('open');
    expect(stateAt(75, [...FIVE_FAULTS, open(14)])).to.equal('half-open');
    expect(stateAt(15, [...FIVE_FAULTS, open(13)]), 'sent during the opening').to.equal('half-open');
    expect(stateAt(16, [...FIVE_FAULTS, at(15, 'well')])).to.equal('closed');
  });

  it('opens for ten seconds six times in a row, then twice as long each time, for a minute at most', () => {
    const outcomes = [...FIVE_FAULTS];
    let untilSecond = 14;
    for (const openSeconds of [10, 10, 10, 10, 10, 20, 40, 60, 60]) {
      outcomes.push(at(untilSecond, 'failed'));
      untilSecond += openSeconds;
      expect(mediaHealthOf(outcomes, untilSecond * SECOND_MS).opening?.untilMs).to.equal(untilSecond * SECOND_MS);
    }
  });

  it('neither extends an opening by calls sent before its end, nor ends it by calls sent before its start', () => {
    const late = { submittedAtMs: 1_000, settledAtMs: 6_000 };
    for (const verdict of ['failed', 'well'] as const) {
      const { opening } = mediaHealthOf([...FIVE_FAULTS, { ...late, verdict }], 7_000);
      expect(opening?.untilMs, verdict).to.equal(14_000);
    }
  });

  it('closes the circuit by a success during an opening', () => {
    expect(stateAt(8, [...FIVE_FAULTS, at(7, 'well')])).to.equal('closed');
  });
});

import { expect } from 'chai';
import { createPace } from '../../../services/batches/pace.ts';

describe('the pace of a chunk', () => {
  let nowMs = 0;
  beforeEach(() => {
    nowMs = 0;
  });
  const start = () => createPace(() => nowMs);

  it('adds a line for each answer, up to 128 at once', () => {
    const pace = start();
    expect(pace.limit).to.equal(8);
    for (let answers = 0; answers < 1_000; answers += 1) pace.succeeded();
    expect(pace.limit).to.equal(128);
  });

  it('halves once for lines that fail together, down to one, with longer and longer pauses', () => {
    const pace = start();
    const pauses = Array.from({ length: 7 }, () => {
      pace.failed(undefined);
      pace.failed(undefined);
      const pauseMs = pace.pauseMs();
      nowMs += pauseMs;
      return pauseMs;
    });
    expect(pauses).to.deep.equal([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(pace.limit).to.equal(1);
  });

  it('pauses as long as the upstream asks, up to half a minute', () => {
    const pace = start();
    pace.failed(7);
    expect(pace.pauseMs()).to.equal(7_000);
    nowMs += 7_000;
    pace.failed(3_600);
    expect(pace.pauseMs()).to.equal(30_000);
  });
});

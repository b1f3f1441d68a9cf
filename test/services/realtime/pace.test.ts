import { expect } from 'chai';
import { Pace } from '../../../services/realtime/pace.ts';

describe('Pace', () => {
  it('lets a client send 20 s of audio at once, and then twice as fast as it plays', () => {
    const pace = new Pace(0);
    expect(pace.count(20, 0)).to.equal(0);
    expect(pace.count(4, 0)).to.equal(2_000);
    expect(pace.count(2, 3_000)).to.equal(0);
    expect(pace.count(1, 3_000)).to.equal(500);
  });

  it('lets a client send 200 events a second', () => {
    const pace = new Pace(0);
    const waits = Array.from({ length: 300 }, () => pace.count(0, 0));
    expect(waits[199]).to.equal(0);
    expect(waits[299]).to.equal(500);
    expect(pace.count(0, 1_000)).to.equal(0);
  });
});

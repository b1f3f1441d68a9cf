import { expect } from 'chai';
import { Pace } from '../../../services/realtime/pace.ts';

describe('Pace', () => {
  it('lets a client send 20 s of audio at once, and then twice as fast as it plays', () => {
    const pace = new Pace(0);
    expect(pace.count({ audioSeconds: 20, bytes: 0 }, 0)).to.equal(0);
    expect(pace.count({ audioSeconds: 4, bytes: 0 }, 0)).to.equal(2_000);
    expect(pace.count({ audioSeconds: 2, bytes: 0 }, 3_000)).to.equal(0);
    expect(pace.count({ audioSeconds: 1, bytes: 0 }, 3_000)).to.equal(500);
  });

  it('lets a client send 200 events a second', () => {
    const pace = new Pace(0);
    const waits = Array.from({ length: 300 }, () => pace.count({ audioSeconds: 0, bytes: 0 }, 0));
    expect(waits[199]).to.equal(0);
    expect(waits[299]).to.equal(500);
    expect(pace.count({ audioSeconds: 0, bytes: 0 }, 1_000)).to.equal(0);
  });

  it('lets a client send 15 MiB at once, and then 1 MiB a second', () => {
    const pace = new Pace(0);
    expect(pace.count({ audioSeconds: 0, bytes: 15 * 2 ** 20 }, 0)).to.equal(0);
    expect(pace.count({ audioSeconds: 0, bytes: 2 ** 20 }, 0)).to.equal(1_000);
    expect(pace.count({ audioSeconds: 0, bytes: 2 ** 20 }, 2_000)).to.equal(0);
  });
});

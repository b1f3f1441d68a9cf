import { expect } from 'chai';
import { UNREPORTED_USAGE, type Usage } from '../../text/canonical.ts';
import { Meter } from '../../text/meter.ts';

const THOUGHT = 'Let me think about lighthouses. '.repeat(20);

describe('the reasoning tokens of an answer', () => {
  function reasoningOf(reported: Partial<Usage>, thought = THOUGHT): number | null | undefined {
    const meter = new Meter();
    if (thought !== '') meter.see({ type: 'reasoning-delta', id: '1', text: thought });
    meter.see({ type: 'text-delta', id: '2', text: 'A lighthouse.' });
    meter.see({ type: 'usage', usage: { ...UNREPORTED_USAGE, ...reported } });
    return meter.consumption(true).usage?.reasoning;
  }

  it('are the tokens that the upstream reported', () => {
    expect(reasoningOf({ outputTotal: 300, reasoning: 120 })).to.equal(120);
  });

  for (const reported of [null, 0]) {
    it(`are estimated from the visible reasoning if the upstream reported ${reported}`, () => {
      expect(reasoningOf({ outputTotal: 300, reasoning: reported })).to.be.within(80, 200);
    });

    it(`are ${reported} if the upstream reported ${reported} and no reasoning was visible`, () => {
      expect(reasoningOf({ outputTotal: 300, reasoning: reported }, '')).to.equal(reported);
    });
  }

  it('are never more than the reported output', () => {
    expect(reasoningOf({ outputTotal: 30, reasoning: null })).to.equal(30);
  });
});

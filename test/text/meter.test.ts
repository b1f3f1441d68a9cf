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

  for (const reported of [120, 0, null]) {
    it(`are those that the upstream reported, never an estimate from the visible reasoning: ${reported}`, () => {
      // contract 4.8:28
      for (const thought of [THOUGHT, '']) {
        expect(reasoningOf({ outputTotal: 300, reasoning: reported }, thought)).to.equal(reported);
      }
    });
  }
});

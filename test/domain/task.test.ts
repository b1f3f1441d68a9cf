import { expect } from 'chai';
import * as fc from 'fast-check';
import { POLL_AFTER_SECONDS, type TaskStatus, canTransition, isFinal } from '../../domain/task.ts';

const STATUSES: readonly TaskStatus[] = ['queued', 'processing', 'succeeded', 'failed'];
const ALLOWED = [
  'queued → processing',
  'queued → succeeded',
  'queued → failed',
  'processing → succeeded',
  'processing → failed',
];

describe('task states', () => {
  for (const from of STATUSES) {
    for (const to of STATUSES) {
      const way = `${from} → ${to}`;
      it(`${ALLOWED.includes(way) ? 'allows' : 'refuses'} ${way}`, () => {
        expect(canTransition(from, to)).to.equal(ALLOWED.includes(way));
      });
    }
  }

  it('calls only succeeded and failed final', () => {
    expect(STATUSES.filter(isFinal)).to.deep.equal(['succeeded', 'failed']);
  });

  it('never leaves a final state and never visits a state twice', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...STATUSES), { maxLength: 20 }), (wishes) => {
        const visited: TaskStatus[] = ['queued'];
        for (const wish of wishes) if (canTransition(visited.at(-1) ?? 'queued', wish)) visited.push(wish);
        expect(new Set(visited).size).to.equal(visited.length);
        expect(visited.slice(0, -1).some(isFinal)).to.equal(false);
      }),
    );
  });

  it('asks clients to wait 5 seconds for an image and 8 for a video', () => {
    expect(POLL_AFTER_SECONDS).to.deep.equal({ image: 5, video: 8 });
  });
});

import { expect } from 'chai';
import { createStartWindow, type StartWindow } from '../../../services/tasks/start-window.ts';

describe('the start window', () => {
  let nowMs: number;
  let window: StartWindow;
  let count: number;

  beforeEach(() => {
    nowMs = 1_000_000;
    window = createStartWindow(() => nowMs);
    count = 0;
  });

  /** Starts as many as there is room for; workers take all of them up after this time. @returns the number */
  function round(tookMs: number): number {
    const taskIds = Array.from({ length: window.freeSlots() }, () => `task ${(count += 1)}`);
    for (const taskId of taskIds) window.add(taskId);
    nowMs += tookMs;
    window.recordStarts(new Map(taskIds.map((taskId) => [taskId, nowMs])));
    return taskIds.length;
  }

  it('admits a few tasks at first, and none until these start', () => {
    for (let left = window.freeSlots(); left > 0; left -= 1) {
      expect(window.freeSlots()).to.equal(left);
      window.add(`task ${left}`);
    }
    expect(window.freeSlots()).to.equal(0);
  });

  it('grows while tasks start quickly, so that it does not limit a large cluster', () => {
    const started = Array.from({ length: 1_000 }, () => round(50));
    expect(started).to.deep.equal(started.toSorted((a, b) => a - b));
    expect(started.at(-1)).to.be.at.least(100);
  });

  it('does not grow while it has free slots', () => {
    const before = window.freeSlots();
    for (let time = 0; time < 100; time += 1) {
      window.add('one');
      window.recordStarts(new Map([['one', nowMs]]));
    }
    expect(window.freeSlots()).to.equal(before);
  });

  it('halves while tasks start late, down to one slot', () => {
    for (let time = 0; time < 28; time += 1) round(50);
    const started = Array.from({ length: 8 }, () => round(2_000));
    expect(started).to.deep.equal([32, 16, 8, 4, 2, 1, 1, 1]);
  });

  it('frees the slot of a task that was not started or is final, and does not count its time', () => {
    const before = window.freeSlots();
    window.add('not started');
    window.add('over');
    window.remove('not started');
    nowMs += 5_000;
    window.recordStarts(new Map([['over', null]]));
    expect(window.freeSlots()).to.equal(before);
  });

  it('drops tasks that never start, so that others can start', () => {
    for (const taskId of ['1', '2', '3', '4']) window.add(taskId);
    nowMs += 9_000;
    expect(window.listPending()).to.have.length(4);
    nowMs += 1_000;
    expect(window.listPending()).to.deep.equal([]);
    expect(window.freeSlots()).to.equal(2);
  });
});

import { expect } from 'chai';
import { createStartRoom, type StartRoom } from '../../temporal/start-room.ts';

describe('the room for tasks that are started ahead', () => {
  let nowMs: number;
  let room: StartRoom;
  let count: number;

  beforeEach(() => {
    nowMs = 1_000_000;
    room = createStartRoom(() => nowMs);
    count = 0;
  });

  /** Starts as many as there is room for; workers take all of them up after this time. @returns the number */
  function round(tookMs: number): number {
    const taskIds = Array.from({ length: room.free() }, () => `task ${(count += 1)}`);
    for (const taskId of taskIds) room.enter(taskId);
    nowMs += tookMs;
    room.takenUp(new Map(taskIds.map((taskId) => [taskId, nowMs])));
    return taskIds.length;
  }

  it('admits a few tasks at first, and none while these are not started', () => {
    for (let left = room.free(); left > 0; left -= 1) {
      expect(room.free()).to.equal(left);
      room.enter(`task ${left}`);
    }
    expect(room.free()).to.equal(0);
  });

  it('grows while tasks start quickly, so that nothing limits a large cluster', () => {
    const started = Array.from({ length: 1_000 }, () => round(50));
    expect(started).to.deep.equal(started.toSorted((a, b) => a - b));
    expect(started.at(-1)).to.be.at.least(100);
  });

  it('does not grow while it is not used up', () => {
    const before = room.free();
    for (let time = 0; time < 100; time += 1) {
      room.enter('one');
      room.takenUp(new Map([['one', nowMs]]));
    }
    expect(room.free()).to.equal(before);
  });

  it('shrinks by half while tasks start late, down to one', () => {
    for (let time = 0; time < 28; time += 1) round(50);
    const started = Array.from({ length: 8 }, () => round(2_000));
    expect(started).to.deep.equal([32, 16, 8, 4, 2, 1, 1, 1]);
  });

  it('is free again for a task that was not started or is final, whose time is not counted', () => {
    const before = room.free();
    room.enter('not started');
    room.enter('over');
    room.leave('not started');
    nowMs += 5_000;
    room.takenUp(new Map([['over', null]]));
    expect(room.free()).to.equal(before);
  });

  it('forgets tasks that never start, so that others can start', () => {
    for (const taskId of ['1', '2', '3', '4']) room.enter(taskId);
    nowMs += 9_000;
    expect(room.entered()).to.have.length(4);
    nowMs += 1_000;
    expect(room.entered()).to.deep.equal([]);
    expect(room.free()).to.equal(2);
  });
});

import { expect } from 'chai';
import { isFinal, TASK_STATUSES } from '../../domain/task.ts';

describe('task states', () => {
  it('a task is final when it succeeded or failed', () => {
    expect(TASK_STATUSES.filter(isFinal)).to.deep.equal(['succeeded', 'failed']);
  });
});

import type { TaskStarter } from '../../services/tasks/task-starter.ts';

/** Starts no workflow of a task. */
export const NO_STARTER: TaskStarter = {
  tryReserveSlot: () => true,
  releaseSlot: () => {},
  startSoon: () => {},
  deferToRelay: () => {},
  whenDeferred: () => new Promise(() => {}),
  freeSlots: async () => 32,
  start: async () => false,
  setBacklog: () => {},
  stop: async () => {},
};

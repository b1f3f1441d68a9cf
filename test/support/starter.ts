import type { TaskStarter } from '../../services/tasks/task-starter.ts';

/** Starts no workflow of a task. */
export const NO_STARTER: TaskStarter = {
  takesNext: () => true,
  forget: () => {},
  startSoon: () => {},
  leave: () => {},
  whenLeft: () => new Promise(() => {}),
  freeSlots: async () => 32,
  start: async () => false,
  served: () => {},
  stop: async () => {},
};

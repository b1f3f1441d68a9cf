/** The names of the kinds of faults, in the order in which they are listed. */
export const FAULT_NAMES = [
  'api',
  'text',
  'worker',
  'temporal',
  'postgres',
  'postgres-pause',
  'freeze',
  'text-freeze',
  'silence',
  'cut',
  'text-cut',
  'delay',
  'lost',
  'clocks',
  'months',
  'store',
  'full',
  's3',
  'restore',
  'wipe',
  'downloads',
  'submissions',
  'late',
  'webhooks',
] as const;

export type FaultName = (typeof FAULT_NAMES)[number];

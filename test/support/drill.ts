import type { Stage } from '../../lab/drill/faults/fault.ts';

/** An empty stage of a drill, apart from the parts of a test. */
export function quietStage(settings: Partial<Stage> = {}): Stage {
  return {
    members: [],
    join: () => Promise.reject(new Error('no stack')),
    leave: async () => {},
    temporalAddress: '',
    stores: { folder: '', disk: null, s3: null },
    databaseUrl: '',
    home: '',
    apiUrls: [],
    adminToken: '',
    genway: async () => {},
    receiver: { paths: () => [], hang: () => () => {} },
    upstreams: { scenarios: [] },
    struck: new Set(),
    unheeded: [],
    forgotten: [],
    revoked: [],
    realtimeUpstream: { finished: [], breakOff: () => 0, silence: () => ({ sessions: 0, goOn: () => {} }) },
    ...settings,
  };
}

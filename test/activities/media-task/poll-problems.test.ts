import { expect } from 'chai';
import { listPollProblems } from '../../../db/queries/poll-problems.ts';
import type { JobState } from '../../../providers/media/adapter.ts';
import { unfinished } from '../../../providers/media/job-state.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { createPollWatch } from '../../../activities/media-task/poll-problems.ts';
import { useTestDatabase } from '../../support/database.ts';

type Polled = Parameters<ReturnType<typeof createPollWatch>>[0];

describe('the watch over the polls of a job', () => {
  const testDatabase = useTestDatabase();

  /** Reports states at times in seconds. @returns the words in the warnings, and the metrics */
  async function watch(upstream: string, states: readonly (readonly [seconds: number, Polled])[]) {
    let nowMs = 0;
    const metrics = createMetrics();
    const warnings: object[] = [];
    const see = createPollWatch(
      { database: testDatabase.database, clock: { nowMs: () => nowMs }, metrics },
      { id: 'task_1', provider: upstream, model: 'vidone-3.0' },
      { warn: (_message, facts) => void warnings.push(facts) },
    );
    for (const [seconds, state] of states) {
      nowMs = seconds * 1_000;
      await see(state);
    }
    return { warnings, metrics: await metrics.render() };
  }

  const failure = (status: number): Polled => ({ state: 'unreachable', detail: `the upstream answered ${status}` });
  const word = (text: string): JobState => unfinished(text, ['running']);

  it('warns of a word that repeats for a minute, with the word, and again for each minute', async () => {
    const seen = [0, 30, 59, 60, 75, 119, 120].map((seconds) => [seconds, word('archived')] as const);
    const { warnings, metrics } = await watch('relay', seen);
    const warning = { upstream: 'relay', model: 'vidone-3.0', words: 'archived', taskId: 'task_1' };
    expect(warnings).to.deep.equal([warning, warning]);
    expect(metrics).to.match(/^genway_media_poll_problems_total\{upstream="relay",problem="unknown_state"\} 2$/m);
    expect(await listPollProblems(testDatabase.database)).to.deep.include({
      upstream: 'relay',
      model: 'vidone-3.0',
      kind: 'unknown_state',
      words: 'archived',
    });
  });

  it('warns of a job whose polls fail for a minute, whatever the reasons, with the latest reason', async () => {
    const seen = [0, 30, 60, 90].map((seconds) => [seconds, failure(seconds < 60 ? 500 : 401)] as const);
    const { warnings, metrics } = await watch('locked', seen);
    const words = 'the upstream answered 401';
    expect(warnings).to.deep.equal([{ upstream: 'locked', model: 'vidone-3.0', words, taskId: 'task_1' }]);
    expect(metrics).to.match(/^genway_media_poll_problems_total\{upstream="locked",problem="failed_polls"\} 1$/m);
    const listed = await listPollProblems(testDatabase.database);
    expect(listed).to.deep.include({ upstream: 'locked', model: 'vidone-3.0', kind: 'failed_polls', words });
  });

  it('does not warn of a job whose polls fail between others that succeed', async () => {
    const seen = [0, 30, 60, 90, 120].map(
      (seconds) => [seconds, seconds === 60 ? word('running') : failure(500)] as const,
    );
    expect((await watch('shaky', seen)).warnings).to.deep.equal([]);
  });

  for (const [what, states] of [
    ['known', [0, 60, 120].map((seconds) => [seconds, word('running')] as const)],
    ['seen for less than a minute', [0, 59].map((seconds) => [seconds, word('archived')] as const)],
    [
      'followed by another word',
      [0, 30, 60, 90].map((seconds) => [seconds, word(seconds % 60 === 0 ? 'warming' : 'running')] as const),
    ],
    ['the last one', [[0, word('archived')] as const, [600, { state: 'succeeded', results: [] }] as const]],
  ] as const) {
    it(`does not warn of a word that is ${what}`, async () => {
      const { warnings } = await watch('quiet', states);
      expect(warnings).to.deep.equal([]);
      const listed = await listPollProblems(testDatabase.database);
      expect(listed.map(({ upstream }) => upstream)).to.not.include('quiet');
    });
  }

  it('keeps the latest word of each model at an upstream', async () => {
    for (const text of ['archived', 'shelved']) {
      await watch('fickle', [
        [0, word(text)],
        [60, word(text)],
      ]);
    }
    const listed = await listPollProblems(testDatabase.database);
    expect(listed.filter(({ upstream }) => upstream === 'fickle').map((found) => found.words)).to.deep.equal([
      'shelved',
    ]);
  });
});

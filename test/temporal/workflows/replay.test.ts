import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { expect } from 'chai';
import {
  parseHistory,
  type Replay,
  replayHistories,
  replayHistoryFile,
  type SavedHistory,
} from '../../../bin/replay.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { testWorkflowBundle } from '../../support/services.ts';

const FOLDER = join(import.meta.dirname, '../../histories');

describe('the workflows', function () {
  this.timeout(180_000);
  let histories: (SavedHistory & { readonly text: string })[];
  let current: { codePath: string };
  let folder: string;

  before(async () => {
    const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json')).sort();
    histories = await Promise.all(
      files.map(async (file) => {
        const text = await readFile(join(FOLDER, file), 'utf8');
        return { ...parseHistory(file, text), text };
      }),
    );
    current = { codePath: await testWorkflowBundle() };
    folder = await mkdtemp(join(tmpdir(), 'genway-replay-'));
  });
  after(() => rm(folder, { recursive: true }));

  async function replayAll(code: Parameters<typeof replayHistories>[1]): Promise<Replay[]> {
    const replays: Replay[] = [];
    for await (const replay of replayHistories(histories, code)) replays.push(replay);
    return replays;
  }

  it('take every decision again that the saved histories record', async () => {
    const replays = await replayAll(current);
    expect(replays.filter(({ difference }) => difference !== null)).to.deep.equal([]);
    expect(replays).to.have.length(histories.length);
    expect(new Set(replays.map(({ workflowType }) => workflowType))).to.deep.equal(
      new Set(['mediaTask', 'webhookDelivery']),
    );
  });

  it('are distinguished from workflows that changed', async () => {
    const changed = await bundleWorkflowCode({
      workflowsPath: join(import.meta.dirname, 'changed-workflows.ts'),
      logger: new DefaultLogger('ERROR'),
    });
    const replays = await replayAll(changed);
    expect(replays.filter(({ difference }) => difference === null)).to.deep.equal([]);
    expect(replays[0]?.difference).to.match(/nondeterminism/i);
  });

  it('can be replayed from one file, in the forms in which Temporal hands out histories', async () => {
    const text = await readFile(join(FOLDER, 'task-succeeded.json'), 'utf8');
    const forms = {
      'as the command line shows it': text,
      'as the web page once saved it': text.replaceAll(/"EVENT_TYPE_([A-Z_]+)"/g, (_all, name: string) => {
        const words = name.toLowerCase().split('_');
        return JSON.stringify(words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(''));
      }),
      'with a field that this version does not know': text.replace('"events": [', '"somethingNew": 1, "events": ['),
    };
    for (const [form, content] of Object.entries(forms)) {
      const file = join(folder, 'history.json');
      await writeFile(file, content);
      const replay = await replayHistoryFile(file, current);
      expect(replay, form).to.deep.include({ workflowType: 'mediaTask', difference: null });
      expect(replay.workflowId, form).to.match(/^task_/);
      expect(replay.events, form).to.equal(26);
    }
  });

  it('are refused in a file that contains no history', async () => {
    const file = join(folder, 'broken.json');
    for (const content of ['', '[]', '{"events": []}', '{"events": [{"eventId": "1"}]}']) {
      await writeFile(file, content);
      const { message } = await rejectionOf(replayHistoryFile(file, current));
      expect(message).to.match(/^broken\.json is not the history of a workflow\. Save one with/);
    }
  });

  it('have histories that do not reveal where they were recorded', () => {
    for (const { workflowId, text } of histories) expect(text, workflowId).to.not.match(/"\d+@|\(\//);
  });
});

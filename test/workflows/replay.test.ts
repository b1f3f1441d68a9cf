import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultPayloadConverter } from '@temporalio/common';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { expect } from 'chai';
import { parseHistory, type Replay, replayHistories, replayHistoryFile, type SavedHistory } from '../../bin/replay.ts';
import { rejectionOf } from '../support/rejection.ts';
import { testWorkflowBundle } from '../support/services.ts';
import { useTestFolder } from '../support/started.ts';

const FOLDER = join(import.meta.dirname, '../histories');
/** https://github.com/temporalio/api/blob/master/temporal/api/enums/v1/event_type.proto */
const ACTIVITY_COMPLETED = 12;

describe('the workflows', () => {
  let histories: (SavedHistory & { readonly text: string })[];
  let current: { codePath: string };
  const folder = useTestFolder();

  before(async () => {
    const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json')).sort();
    histories = await Promise.all(
      files.map(async (file) => {
        const text = await readFile(join(FOLDER, file), 'utf8');
        return { ...parseHistory(file, text), text };
      }),
    );
    current = { codePath: await testWorkflowBundle() };
  });

  async function replayAll(code: Parameters<typeof replayHistories>[1]): Promise<Replay[]> {
    const replays: Replay[] = [];
    for await (const replay of replayHistories(histories, code)) replays.push(replay);
    return replays;
  }

  it('repeat every decision that the saved histories record', async () => {
    const replays = await replayAll(current);
    expect(replays.filter(({ difference }) => difference !== null)).to.deep.equal([]);
    expect(replays).to.have.length(histories.length);
    expect(new Set(replays.map(({ workflowType }) => workflowType))).to.deep.equal(
      new Set(['batch', 'mediaTask', 'webhookDelivery']),
    );
  });

  it('the replay reports workflows with changed decisions', async () => {
    const changed = await bundleWorkflowCode({
      workflowsPath: join(import.meta.dirname, 'changed-workflows.ts'),
      logger: new DefaultLogger('ERROR'),
    });
    const replays = await replayAll(changed);
    expect(replays.filter(({ difference }) => difference === null)).to.deep.equal([]);
    expect(replays[0]?.difference).to.match(/nondeterminism/i);
  });

  for (const [when, endedAt, isRefunded] of [
    ['after the deadline', '2100-01-01T00:00:00.000Z', true],
    ['before the deadline', '2000-01-01T00:00:00.000Z', false],
  ] as const) {
    const does = isRefunded ? 'refund' : 'do not refund';
    it(`${does} a render that ended ${when}, if Temporal ends its wait only after the deadline`, async () => {
      const file = 'task-processing-timeout.json';
      const saved = parseHistory(file, await readFile(join(FOLDER, file), 'utf8'));
      const events = (saved.history.events ?? []).map((event) => {
        const { activityTaskTimedOutEventAttributes: timedOut, ...others } = event;
        if (!timedOut) return event;
        const result = { payloads: [defaultPayloadConverter.toPayload({ files: 1, endedAt })] };
        const { scheduledEventId = null, startedEventId = null } = timedOut;
        return {
          ...others,
          eventType: ACTIVITY_COMPLETED,
          activityTaskCompletedEventAttributes: { scheduledEventId, startedEventId, result },
        };
      });
      for await (const { difference } of replayHistories([{ ...saved, history: { events } }], current)) {
        expect(difference === null).to.equal(isRefunded);
      }
    });
  }

  it('replay from one file, in each form in which Temporal exports histories', async () => {
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
      expect(replay.events, form).to.equal(27);
    }
  });

  it('the replay refuses a file without a history', async () => {
    const file = join(folder, 'broken.json');
    for (const content of ['', '[]', '{"events": []}', '{"events": [{"eventId": "1"}]}']) {
      await writeFile(file, content);
      const { message } = await rejectionOf(replayHistoryFile(file, current));
      expect(message).to.match(/^broken\.json is not the history of a workflow\. Save one with/);
    }
  });

  it('the replay refuses a file that is not there', async () => {
    const { message } = await rejectionOf(replayHistoryFile(join(folder, 'nowhere.json'), current));
    expect(message).to.match(/^The history cannot be read: ENOENT: /);
  });

  it('leave no trace in the saved histories of the machine that recorded them', () => {
    for (const { workflowId, text } of histories) expect(text, workflowId).to.not.match(/"\d+@|\(\//);
  });
});

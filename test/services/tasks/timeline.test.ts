import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { expect } from 'chai';
import { outcomeWords } from '../../../services/tasks/explain-task.ts';
import { describeStep } from '../../../services/tasks/timeline.ts';
import { TIMELINE_TEXTS, type TimelineTexts } from '../../../services/tasks/timeline-texts.ts';
import { TIMELINE_ZH } from '../../../console/texts/timeline-zh.ts';
import { parseUsd } from '../../../domain/money.ts';
import { readHistorySteps } from '../../../services/tasks/history-steps.ts';

const HISTORIES = join(import.meta.dirname, '../../histories');

function stepsOf(name: string, texts: TimelineTexts): readonly string[] {
  const history = historyFromJSON(JSON.parse(readFileSync(join(HISTORIES, `${name}.json`), 'utf8')));
  return readHistorySteps(history).map((step) => describeStep(step, parseUsd('0.96'), texts));
}

describe('the timeline of a task', () => {
  it('states the amounts that were reserved, charged or refunded', () => {
    expect(stepsOf('task-succeeded', TIMELINE_TEXTS)).to.include('Reserved $0.96').and.include('Charged $0.96');
    expect(stepsOf('task-bad-request', TIMELINE_TEXTS)).to.include('Refunded $0.96');
  });

  it('describes each step of a task in the language of the reader', () => {
    for (const name of ['task-succeeded', 'task-bad-request', 'task-announced-by-the-provider']) {
      expect(
        stepsOf(name, TIMELINE_ZH).filter((text) => !/[\u3400-\u9fff]/.test(text)),
        name,
      ).to.deep.equal([]);
    }
    expect(stepsOf('task-bad-request', TIMELINE_ZH)).to.include('已退款 $0.96');
  });

  for (const { outcome, code, detail, english, chinese } of [
    {
      outcome: 'accepted',
      code: null,
      detail: null,
      english: 'kling accepted the job',
      chinese: 'kling 已接受作业',
    },
    {
      outcome: 'accepted',
      code: 'processing_failed',
      detail: 'GPU lost',
      english: 'kling delivered no result (processing_failed: GPU lost)',
      chinese: 'kling 没有交付结果（供应商处理失败: GPU lost）',
    },
    {
      outcome: 'not_taken',
      code: 'access_refused',
      detail: 'the upstream answered code 1102',
      english: 'kling refused access (code 1102)',
      chinese: 'kling 拒绝访问（code 1102）',
    },
    {
      outcome: 'not_taken',
      code: 'unreachable',
      detail: null,
      english: 'kling could not be reached',
      chinese: '无法连接 kling',
    },
    {
      outcome: 'refused',
      code: 'bad_request',
      detail: null,
      english: 'kling refused the job (bad_request)',
      chinese: 'kling 拒绝了作业（被供应商拒绝）',
    },
    {
      outcome: 'unknown',
      code: null,
      detail: 'the task ended before its outcome was known',
      english: 'it is unknown whether kling has the job (the task ended before its outcome was known)',
      chinese: 'kling 是否有此作业尚不清楚（the task ended before its outcome was known）',
    },
  ] as const) {
    it(`names the upstream and what it did: ${english}`, () => {
      const submission = { outcome, code, detail, provider: 'kling' };
      expect(outcomeWords(submission, TIMELINE_TEXTS)).to.equal(english);
      expect(outcomeWords(submission, TIMELINE_ZH)).to.equal(chinese);
    });
  }
});

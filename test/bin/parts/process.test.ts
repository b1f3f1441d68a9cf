import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const PARTS = join(import.meta.dirname, '../../../bin/parts');
const PROGRAM = `
  import { createLog } from '${join(PARTS, 'process.ts')}';
  import { ApplicationFailure } from '@temporalio/common';
  import { temporalLogger } from '${join(PARTS, 'temporal-runtime.ts')}';
  const log = createLog('test', { logLevel: 'info' });
  temporalLogger(log).warn('Activity failed', { activityType: 'dispatch', error: new Error('the upstream took too long') });
  const cause = ApplicationFailure.create({ message: 'the vendor found a forbidden word', type: 'upstream' });
  const verdict = ApplicationFailure.create({ type: 'content_policy_violation', message: 'Refused.', cause });
  temporalLogger(log).warn('Activity failed', { workflowId: 'task_1', error: verdict });
  temporalLogger(log).warn('No workflows registered, not polling for workflow tasks');
  const error = Object.assign(new Error('refused'), { detail: 'Failing row contains (a secret wish).' });
  const secrets = { authorization: 'a secret header', api_key: 'a secret key', secret: 'a secret secret' };
  log.error({ err: error, request: secrets, headers: secrets }, 'request failed');
`;

describe('the log of a process', () => {
  let lines: string[];
  before(async () => {
    const words = ['--import', 'tsx', '--input-type=module', '--eval', PROGRAM];
    lines = (await promisify(execFile)(process.execPath, words)).stdout.split('\n');
  });

  it('shows the cause in Temporal’s messages', () => {
    expect(JSON.parse(lines[0] ?? '')).to.have.nested.property('error.message', 'the upstream took too long');
  });

  it('shows the verdict of a step with the vendor’s words and without a stack', () => {
    const { workflowId, error } = JSON.parse(lines[1] ?? '');
    const verdict = {
      type: 'content_policy_violation',
      message: 'Refused.',
      cause: 'the vendor found a forbidden word',
    };
    expect({ workflowId, error }).to.deep.equal({ workflowId: 'task_1', error: verdict });
  });

  it('leaves out the SDK’s warning about workers that run activities alone', () => {
    expect(lines.join('\n')).to.not.include('No workflows registered');
  });

  it('contains no credentials, and no rows that PostgreSQL quotes in its errors', () => {
    expect(lines[2]).to.include('request failed').and.to.include('refused');
    expect(lines[2]).to.not.match(/a secret (wish|header|key|secret)/);
  });
});

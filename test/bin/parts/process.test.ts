import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const PARTS = join(import.meta.dirname, '../../../bin/parts');
const PROGRAM = `
  import { createLog } from '${join(PARTS, 'process.ts')}';
  import { temporalLogger } from '${join(PARTS, 'temporal-runtime.ts')}';
  const log = createLog('test', { logLevel: 'info' });
  temporalLogger(log).warn('Activity failed', { activityType: 'dispatch', error: new Error('the upstream took too long') });
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

  it('leaves out the SDK’s warning about workers that run activities alone', () => {
    expect(lines.join('\n')).to.not.include('No workflows registered');
  });

  it('contains no credentials, and no rows that PostgreSQL quotes in its errors', () => {
    expect(lines[1]).to.include('request failed').and.to.include('refused');
    expect(lines[1]).to.not.match(/a secret (wish|header|key|secret)/);
  });
});

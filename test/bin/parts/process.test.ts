import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const PROGRAM = `
  import { createLog } from '${join(import.meta.dirname, '../../../bin/parts/process.ts')}';
  const error = Object.assign(new Error('refused'), { detail: 'Failing row contains (a secret wish).' });
  const secrets = { authorization: 'a secret header', api_key: 'a secret key', secret: 'a secret secret' };
  createLog('test', { logLevel: 'info' }).error({ err: error, request: secrets, headers: secrets }, 'request failed');
`;

const TEMPORAL_PROGRAM = `
  import { createLog } from '${join(import.meta.dirname, '../../../bin/parts/process.ts')}';
  import { temporalLogger } from '${join(import.meta.dirname, '../../../bin/parts/temporal-runtime.ts')}';
  const log = temporalLogger(createLog('test', { logLevel: 'info' }));
  log.warn('Activity failed', { activityType: 'dispatch', error: new Error('the upstream took too long') });
`;

describe('the log of a process', () => {
  it('shows the cause in Temporal’s messages', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--import',
      'tsx',
      '--input-type=module',
      '--eval',
      TEMPORAL_PROGRAM,
    ]);
    expect(JSON.parse(stdout)).to.have.nested.property('error.message', 'the upstream took too long');
  });

  it('holds no credentials, and not the rows that PostgreSQL quotes in its errors', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--import',
      'tsx',
      '--input-type=module',
      '--eval',
      PROGRAM,
    ]);
    expect(stdout).to.include('request failed').and.to.include('refused');
    expect(stdout).to.not.match(/a secret (wish|header|key|secret)/);
  });
});

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

describe('the log of a process', () => {
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

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { childEnvironment } from '../../config.ts';
import { startTestApp, type TestApp } from '../support/app.ts';

const run = promisify(execFile);

describe('the genway command', function () {
  this.timeout(60_000);
  let app: TestApp;
  before(async () => {
    app = await startTestApp();
  });
  after(() => app.stop());

  /** @returns what it prints */
  async function genway(...words: string[]): Promise<string> {
    const environment = childEnvironment({ GENWAY_PUBLIC_URL: app.baseUrl, GENWAY_ADMIN_TOKEN: app.adminToken });
    const { stdout } = await run(process.execPath, ['--import', 'tsx', 'bin/genway.ts', ...words], {
      env: environment,
    });
    return stdout;
  }

  it('replays a saved history', async () => {
    const output = await genway('replay', 'test/histories/task-succeeded.json');
    expect(output).to.match(/^mediaTask task_\w+ replays: 31 events\n$/);
  });

  it('writes an export to its output, to the last line', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 3 });
    const lines = (await genway('accounts', 'ledger', accountId, '--csv')).split('\r\n');
    expect(lines).to.have.length(3);
    expect(lines[1]).to.include(',topup,payments,available,3,');
  });

  it('tells a refusal in one line and ends with code 1', async () => {
    const failure = await genway('accounts', 'show', 'acc_unknown').catch(
      (error: { code: number; stderr: string }) => error,
    );
    expect(failure).to.include({ code: 1 });
    expect(failure).to.have.property('stderr', 'There is no such account. Check the id. (not_found)\n');
  });
});

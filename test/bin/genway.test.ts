import { expect } from 'chai';
import { childEnvironment } from '../../config.ts';
import { useTestApp } from '../support/app.ts';
import { runGenway } from '../support/genway.ts';
import { runProgram } from '../support/program.ts';
import { testWorkflowBundle } from '../support/services.ts';
import { call } from '../support/stack.ts';
import { useLocalServer } from '../support/receiver.ts';

describe('the genway command', () => {
  const app = useTestApp();

  function genway(...words: string[]): ReturnType<typeof runProgram> {
    const environment = { GENWAY_PUBLIC_URL: app.baseUrl, GENWAY_ADMIN_TOKEN: app.adminToken };
    return runProgram('genway', words, childEnvironment(environment));
  }

  it('replays a saved history', async () => {
    const environment = { GENWAY_WORKFLOW_BUNDLE: await testWorkflowBundle() };
    const printed = await runGenway(['replay', 'test/histories/task-succeeded.json'], childEnvironment(environment));
    expect(printed).to.match(/^mediaTask task_\w+ replays: 27 events\n$/);
  });

  it('writes an export to its output, to the last line', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 3 });
    const { stdout } = await genway('accounts', 'ledger', accountId, '--csv');
    const lines = stdout.split('\r\n');
    expect(lines).to.have.length(3);
    expect(lines[1]).to.include(',topup,payments,available,3,');
  });

  it('shows control characters in names as their codes, in any output', async () => {
    const name = 'Evil\u001b]0;owned\u0007\nacc_forged\u009b2J\u202e';
    const { status } = await call(`${app.baseUrl}/admin/v1/accounts`, { key: app.adminToken, body: { name } });
    expect(status).to.equal(201);
    for (const words of [
      ['--json', 'accounts', 'list', 'Evil'],
      ['config', 'check', 'no\u001b[2Jfile.yaml'],
    ]) {
      const { stdout, stderr } = await genway(...words);
      expect(stdout + stderr, words.join(' ')).to.match(/\\u00/);
      expect(stdout + stderr).to.not.match(/[^\P{Cc}\n]|\u202e|^acc_forged/mu);
    }
  });

  describe('an error that a person can correct', () => {
    const CASES: readonly {
      readonly what: string;
      readonly words: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      readonly says: RegExp;
    }[] = [
      {
        what: 'a database that does not answer',
        words: ['partitions', 'list'],
        env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' },
        says: /^PostgreSQL does not answer \(connect ECONNREFUSED 127.0.0.1:9\). Check DATABASE_URL.\n$/,
      },
      {
        what: 'a variable that is missing',
        words: ['partitions', 'list'],
        env: { DATABASE_URL: '' },
        says: /^The configuration is not usable:\n {2}- DATABASE_URL is not set: .*\n$/,
      },
      {
        what: 'a Genway that cannot be reached',
        words: ['tasks', 'list'],
        env: { GENWAY_PUBLIC_URL: 'http://127.0.0.1:9' },
        says: /^http:\/\/127.0.0.1:9 cannot be reached \(.*\). Is Genway running\?\n$/,
      },
      {
        what: 'an answer of somebody else',
        words: ['tasks', 'list'],
        env: { GENWAY_PUBLIC_URL: 'STRANGER' },
        says: /^The answer does not come from the administration endpoints. .*\n$/,
      },
    ];

    const stranger = useLocalServer((_request, response) => response.end('<html>'));

    for (const { what, words, env = {}, says } of CASES) {
      it(`explains without a stack trace how to correct ${what}`, async () => {
        const address = env['GENWAY_PUBLIC_URL'] === 'STRANGER' && { GENWAY_PUBLIC_URL: stranger.url };
        const environment = { GENWAY_ADMIN_TOKEN: app.adminToken, ...env, ...address };
        expect(await runGenway(words, childEnvironment(environment))).to.match(says);
      });
    }
  });

  it('prints a refusal in one line and exits with code 1', async () => {
    const { code, stderr } = await genway('accounts', 'show', 'acc_unknown');
    expect({ code, stderr }).to.deep.equal({
      code: 1,
      stderr: 'There is no such account. Check the id. (not_found)\n',
    });
  });
});

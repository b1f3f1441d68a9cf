import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { call, startTestStack, type TestStack } from '../support/stack.ts';
import { createTask, taskWhenFinal } from '../support/tasks.ts';
import { ASK } from '../support/text.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** The newest released version before this one; null if there is none. */
function previousTag(): string | null {
  try {
    const words = ['describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^'];
    return execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}

/** Builds a version from its own sources, with its own packages. */
async function buildVersion(tag: string, folder: string): Promise<void> {
  await run('sh', ['-c', `git archive "$0" | tar -x -C "$1"`, tag, folder], { cwd: root });
  await run('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder });
  const build = `import { build } from './lab/stack/build.ts'; await build('built');`;
  await run(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', build], { cwd: folder });
}

const tag = previousTag();
const suite = tag === null ? describe.skip : describe;
const reason = tag === null ? ' (skipped, as no version has been released before this one)' : '';

suite(`the processes of the version before, over the database of this one${reason}`, function () {
  this.timeout(600_000);
  let folder: string;
  let stack: TestStack;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-previous-'));
    await buildVersion(tag ?? '', folder);
    const built = join(folder, 'built');
    const before = { programs: join(built, 'programs'), workflowBundle: join(built, 'workflows.js') };
    stack = await startTestStack({ built: before });
    await Promise.all([stack.api.start(), stack.text.start(), stack.worker.start()]);
  });
  after(async () => {
    await stack?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('the processes become ready, finish tasks and answer text', async () => {
    for (const url of [stack.baseUrl, stack.textBaseUrl]) {
      expect((await call(`${url}/readyz`)).status, url).to.equal(200);
    }
    const { apiKey } = await stack.createAccount();
    const { id } = await createTask(stack, apiKey, 'A kite');
    expect(await taskWhenFinal(stack, apiKey, id)).to.include({ status: 'succeeded' });
    const { path, body } = ASK['chat-completions']('textg-6-sol', 'Hi', false);
    expect((await call(stack.textBaseUrl + path, { key: apiKey, body })).status).to.equal(200);
  });
});

import { execFileSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { findFreePort } from '../../bin/stack/ports.ts';
import { pythonWith, run } from '../../lab/stack/packages.ts';
import { pngFile } from '../support/media-files.ts';
import { useTestStack } from '../support/stack.ts';

const PACKAGE = join(import.meta.dirname, '../../clients/python');
const TOOLS = ['build==1.3.0', 'hatchling==1.27.0', 'mypy==1.18.2', 'httpx==0.28.1'];
const OLDEST = 'import sys; sys.exit(sys.version_info < (3, 11))';

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', OLDEST], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The programs in the README. */
async function examples(): Promise<string[]> {
  const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
  return Array.from(readme.matchAll(/^```python\n(.*?)^```/gms), ([, code = '']) => code);
}

/** Posts a signed event once a receiver listens. @returns the status of the answer */
async function postEvent(url: string, secret: string): Promise<number> {
  const body = '{"id":"evt_1","type":"webhook.test"}';
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`evt_1.${timestamp}.${body}`).digest('base64');
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  for (;;) {
    try {
      return (await fetch(url, { method: 'POST', body, headers })).status;
    } catch {
      await sleep(100);
    }
  }
}

(hasPython() ? describe : describe.skip)('clients/python (needs Python 3.11)', () => {
  const stack = useTestStack();
  let folder: string;
  let python: string;
  let env: Record<string, string>;

  before(async () => {
    await Promise.all([stack.api.start(), stack.text.start(), stack.worker.start()]);
    const { apiKey } = await stack.createAccount({ fundedUsd: 100 });
    folder = await mkdtemp(join(tmpdir(), 'genway-python-'));
    await writeFile(join(folder, 'picture.png'), pngFile({ width: 64, height: 64 }));
    await cp(PACKAGE, join(folder, 'source'), { recursive: true });
    env = { GENWAY_API_KEY: apiKey, GENWAY_BASE_URL: stack.baseUrl, PICTURE: join(folder, 'picture.png') };
    const tools = await pythonWith(TOOLS);
    await run(join(tools, 'python'), ['-m', 'build', '--no-isolation', '--outdir', folder, join(folder, 'source')]);
    await run('python3', ['-m', 'venv', join(folder, 'venv')]);
    python = join(folder, 'venv/bin/python');
    const archives = await readdir(folder);
    const archive = archives.find((name) => name.endsWith('.tar.gz')) ?? '';
    expect(archives.filter((name) => name.endsWith('.whl'))).to.have.length(1);
    await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', join(folder, archive)]);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('passes its own tests, installed from its archive', async () => {
    expect(await run(python, [join(PACKAGE, 'tests/test_genway.py')], env)).to.match(/Ran \d+ tests.*\n\nOK/);
  });

  it('runs the examples of its README', async () => {
    const port = await findFreePort();
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    const given = { ...env, PORT: String(port), WEBHOOK_SECRET: secret };
    const running = (await examples()).map((code) =>
      run('sh', ['-c', 'cd "$0" && exec "$1" -u -c "$2"', folder, python, code], given),
    );
    expect(await postEvent(`http://127.0.0.1:${port}`, secret)).to.equal(204);
    const printed = (await Promise.all(running)).join('\n');
    expect(running).to.have.length.above(5);
    for (const words of ['.mp4', 'processing_failed', 'hello', 'evt_1 webhook.test']) expect(printed).to.include(words);
  });

  it('has no type errors for strict programs, like the examples of its README', async () => {
    const tools = await pythonWith(TOOLS);
    const strict = ['-m', 'mypy', '--strict', '--python-executable', python, '--cache-dir', join(folder, 'mypy')];
    expect(await run(join(tools, 'python'), [...strict, join(folder, 'source/src')])).to.include('Success');
    const files = (await examples()).map((code, index) => [join(folder, `example_${index}.py`), code] as const);
    for (const [file, code] of files) await writeFile(file, code);
    expect(await run(join(tools, 'python'), [...strict, ...files.map(([file]) => file)])).to.include('Success');
  });
});

/** The receivers that `docs/webhooks.md` names, run as it describes, with Genway's webhooks. */
import { expect } from 'chai';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { deliveryHeaders, newWebhookSecret } from '../../domain/webhook-signature.ts';

const EXAMPLES = [
  { file: 'webhook-receiver.ts', command: process.execPath, flags: ['--import', 'tsx'] },
  { file: 'webhook-receiver.py', command: 'python3', flags: [] },
];

const SECRET = newWebhookSecret();
/** A body with spaces and an escape that parsing and writing again would change. */
const BODY =
  '{"id": "evt_1",  "type": "task.failed", "data": {"id": "task_1", "error_code": "processing_failed", "note": "\\u00e9 é"}}';

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function delivery(changes: { secret?: string; timestampSeconds?: number; body?: string } = {}) {
  const content = { secret: SECRET, timestampSeconds: nowSeconds(), body: BODY, ...changes };
  return { headers: deliveryHeaders({ ...content, messageId: 'evt_1', event: 'task.failed' }), body: content.body };
}

for (const { file, command, flags } of EXAMPLES) {
  describe(`docs/examples/${file}`, () => {
    let url = '';
    let stop: (() => Promise<void>) | null = null;
    let lines: AsyncIterator<string>;

    before(async function () {
      if (spawnSync(command, ['--version']).status !== 0) {
        process.stderr.write(`    skipped: ${file} needs ${command} on the PATH\n`);
        this.skip();
      }
      const path = fileURLToPath(new URL(`../../docs/examples/${file}`, import.meta.url));
      const receiver = spawn(command, [...flags, path], {
        env: { ...process.env, WEBHOOK_SECRET: SECRET, PORT: '0' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      stop = async () => {
        const exited = once(receiver, 'exit');
        receiver.kill();
        await exited;
      };
      lines = createInterface(receiver.stdout)[Symbol.asyncIterator]();
      url = String((await lines.next()).value).replace('listening on ', '');
    });

    after(() => stop?.());

    async function statusOf(sent: { headers: Record<string, string>; body: string }): Promise<number> {
      const response = await fetch(url, { method: 'POST', ...sent });
      await response.arrayBuffer();
      return response.status;
    }

    it('accepts Genway’s signature, and handles a repeated event once', async () => {
      // contract 6:12
      expect(await statusOf(delivery())).to.equal(204);
      expect(await statusOf(delivery())).to.equal(204);
      expect(await statusOf(delivery({ body: BODY.replace('evt_1', 'evt_2').replace('task_1', 'task_2') }))).to.equal(
        204,
      );
      const printed = [await lines.next(), await lines.next()].map(({ value }) => String(value));
      expect(printed[0]).to.contain('task.failed task_1');
      expect(printed[1]).to.contain('task.failed task_2');
    });

    it('refuses a body that was changed, if only by a space', async () => {
      // contract 6:12
      expect(await statusOf({ ...delivery(), body: `${BODY} ` })).to.equal(401);
    });

    it('refuses another secret', async () => {
      expect(await statusOf(delivery({ secret: newWebhookSecret() }))).to.equal(401);
    });

    it('refuses a timestamp older than 5 minutes, and accepts a slightly younger one', async () => {
      // contract 6:12
      expect(await statusOf(delivery({ timestampSeconds: nowSeconds() - 310 }))).to.equal(401);
      expect(await statusOf(delivery({ timestampSeconds: nowSeconds() - 200 }))).to.equal(204);
    });

    it('refuses missing and malformed headers', async () => {
      const { headers, body } = delivery();
      expect(await statusOf({ headers: {}, body })).to.equal(401);
      expect(await statusOf({ headers: { ...headers, 'x-svc-signature': 'é' }, body })).to.equal(401);
      expect(await statusOf({ headers: { ...headers, 'x-svc-timestamp': 'now' }, body })).to.equal(401);
    });
  });
}

import { expect } from 'chai';
import { Client } from 'pg';
import { SERVING_LIMITS } from '../../db/connections.ts';
import { eventually } from '../support/eventually.ts';
import { call, useTestStack } from '../support/stack.ts';

const VIDEO = { model: 'vidone-3.0', prompt: 'A test' };
/** Any number that no other code locks. */
const GATE = 4_711_000;
/**
 * Stops a worker that makes a task final, with all its locks held: until the gate opens, or for as long as PostgreSQL
 * permits a silent process within a transaction.
 */
const WITH_GATE = /* sql */ `
  CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql
  SET lock_timeout = ${SERVING_LIMITS.idleInTransactionMs} AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(${GATE});
    RETURN NULL;
  END $$;
  CREATE TRIGGER wait_at_gate AFTER UPDATE ON tasks FOR EACH ROW
    WHEN (NEW.status = 'succeeded' AND OLD.status <> 'succeeded') EXECUTE FUNCTION wait_at_gate()`;
const OWN = 'datname = current_database()';

describe('a worker that freezes while it makes a task final', () => {
  let gate: Client;
  // Ends before the stack drops its database.
  after(() => gate.end());
  const stack = useTestStack({ processes: ['worker'] });

  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    await stack.database.raw(WITH_GATE);
    // Without the statement limits of serving processes.
    gate = new Client({ connectionString: stack.environment['DATABASE_URL'] });
    await gate.connect();
  });

  const create = (key: string) =>
    call<{ data: { id: string } }>(`${stack.baseUrl}/v1/videos/tasks`, { key, body: VIDEO });

  it('blocks other processes only until PostgreSQL ends its transaction, within two seconds, and then completes the task once', async () => {
    const { accountId, apiKey } = await stack.createAccount();
    const other = await stack.createAccount();
    await gate.query('SELECT pg_advisory_lock($1)', [GATE]);
    const { body } = await create(apiKey);
    const taskId = body.data.id;
    const waiting = stack.database('pg_stat_activity').where('wait_event', 'advisory').whereRaw(OWN);
    await eventually(async () => expect(await waiting.clone()).to.have.length.above(0));
    const goOn = stack.worker.freeze();
    try {
      expect(SERVING_LIMITS.idleInTransactionMs).to.be.below(2_000);
      const answers = await Promise.all([apiKey, other.apiKey].map(create));
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 201]);
    } finally {
      goOn();
    }
    await gate.query('SELECT pg_advisory_unlock($1)', [GATE]);
    const running = stack.database('tasks').whereNot('status', 'succeeded');
    await eventually(async () => expect(await running.clone().pluck('id')).to.deep.equal([]));
    const transfers = await stack.database('transfers').where({ account_id: accountId, task_id: taskId }).pluck('kind');
    expect(transfers).to.have.members(['reservation', 'settlement']);
  });
});

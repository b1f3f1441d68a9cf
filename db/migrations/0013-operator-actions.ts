import type { Knex } from 'knex';

/** Operators' actions on tasks, with author and reason; append-only. A task is cancelled by a single action. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE operator_actions (
      id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^act_[0-9a-z]+$'),
      task_id text COLLATE "C" NOT NULL,
      task_created_at timestamptz(3) NOT NULL,
      kind text NOT NULL CHECK (kind IN ('cancel', 'redeliver')),
      author text NOT NULL CHECK (author <> ''),
      reason text NOT NULL CHECK (reason <> ''),
      created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX operator_actions_by_task ON operator_actions (task_id, created_at);
    CREATE UNIQUE INDEX operator_actions_one_cancel ON operator_actions (task_id) WHERE kind = 'cancel';
    CREATE TRIGGER operator_actions_are_kept BEFORE UPDATE OR DELETE ON operator_actions
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER operator_actions_not_truncated BEFORE TRUNCATE ON operator_actions
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

    -- Not a foreign key, which would keep the month of the task: an action stays when that is detached.
    CREATE FUNCTION check_action_task() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM 1 FROM tasks WHERE id = NEW.task_id AND created_at = NEW.task_created_at;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no task %', NEW.task_id
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
      END IF;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER operator_actions_task_exists AFTER INSERT ON operator_actions
      FOR EACH ROW EXECUTE FUNCTION check_action_task();
  `);
}

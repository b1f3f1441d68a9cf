import type { Knex } from 'knex';

/**
 * Corrections that two people make: one asks for it, another approves it. What is asked for never changes, is decided at most
 * once, and expires by itself. An approved one names the transfer that carried it out, written in the same transaction.
 *
 * - `amount` is what the account is given, or what is taken if it is negative.
 * - With a `reference` it is a payment that is credited by hand, and becomes a top-up.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE corrections (
      id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^cor_[0-9a-z]+$'),
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      amount numeric(38,0) NOT NULL CHECK (amount <> 0),
      reference text,
      reason text NOT NULL CHECK (reason <> ''),
      author text NOT NULL CHECK (author <> ''),
      created_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL,
      outcome text CHECK (outcome IN ('approved', 'rejected', 'withdrawn')),
      decided_by text,
      decided_at timestamptz,
      transfer_id text COLLATE "C",
      CONSTRAINT corrections_of_payments_add CHECK (reference IS NULL OR amount > 0),
      CONSTRAINT corrections_are_decided_by_somebody CHECK (num_nulls(outcome, decided_by, decided_at) IN (0, 3)),
      -- Only the author withdraws, and only others approve or reject.
      CONSTRAINT corrections_take_two CHECK ((outcome = 'withdrawn') = (decided_by = author)),
      CONSTRAINT corrections_are_booked_if_approved
        CHECK (coalesce(outcome = 'approved', false) = (transfer_id IS NOT NULL))
    );
    CREATE INDEX corrections_pending ON corrections (id) WHERE outcome IS NULL;
    CREATE TRIGGER corrections_are_decided_once BEFORE UPDATE ON corrections FOR EACH ROW
      WHEN (OLD.outcome IS NOT NULL
        OR (OLD.id, OLD.account_id, OLD.amount, OLD.reference, OLD.reason, OLD.author, OLD.created_at, OLD.expires_at)
          IS DISTINCT FROM
            (NEW.id, NEW.account_id, NEW.amount, NEW.reference, NEW.reason, NEW.author, NEW.created_at, NEW.expires_at))
      EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER corrections_are_kept BEFORE DELETE ON corrections FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER corrections_not_truncated BEFORE TRUNCATE ON corrections
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

    CREATE INDEX transfers_adjustments ON transfers (id) WHERE kind = 'adjustment';
  `);
}

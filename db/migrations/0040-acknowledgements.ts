import type { Knex } from 'knex';

/**
 * Findings of reconciliation that nobody can remedy, and e-mail with invitations.
 *
 * - `acknowledgements`: somebody says why a finding stays as it is. It is about what the finding says, so it holds for later
 *   reports that find the same. Where it `takes_two`, a second person confirms it. It is decided once, and kept.
 * - `closed_months.acknowledged`: the findings that were acknowledged when the month was closed.
 * - `account_invitations.mail`: whether its link is to be sent by e-mail; null for one that is handed over. The token is made
 *   when it is sent, so that nobody holds it before whoever reads that mailbox. An order ends with its invitation.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE acknowledgements (
      id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^ack_[0-9a-z]+$'),
      reconciliation_id text COLLATE "C" NOT NULL,
      check_name text NOT NULL,
      subject text NOT NULL,
      detail text NOT NULL,
      reason text NOT NULL CHECK (reason <> ''),
      author text NOT NULL CHECK (author <> ''),
      takes_two boolean NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
      outcome text CHECK (outcome IN ('confirmed', 'rejected', 'withdrawn')),
      decided_by text,
      decided_at timestamptz(3),
      CONSTRAINT acknowledgements_are_decided_by_somebody CHECK (num_nulls(outcome, decided_by, decided_at) IN (0, 3)),
      -- Whoever says so alone confirms it by that; otherwise the author may only withdraw it.
      CONSTRAINT acknowledgements_take_two CHECK (CASE
        WHEN takes_two THEN (outcome = 'withdrawn') = (decided_by = author)
        ELSE coalesce(outcome = 'confirmed' AND decided_by = author, false) END)
    );
    CREATE UNIQUE INDEX acknowledgements_once ON acknowledgements (check_name, md5(subject), md5(detail))
      WHERE outcome IS NULL OR outcome = 'confirmed';
    CREATE TRIGGER acknowledgements_are_decided_once BEFORE UPDATE ON acknowledgements FOR EACH ROW
      WHEN (OLD.outcome IS NOT NULL OR (OLD.id, OLD.reconciliation_id, OLD.check_name, OLD.subject, OLD.detail, OLD.reason,
          OLD.author, OLD.takes_two, OLD.created_at)
        IS DISTINCT FROM (NEW.id, NEW.reconciliation_id, NEW.check_name, NEW.subject, NEW.detail, NEW.reason,
          NEW.author, NEW.takes_two, NEW.created_at))
      EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER acknowledgements_are_kept BEFORE DELETE ON acknowledgements
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER acknowledgements_not_truncated BEFORE TRUNCATE ON acknowledgements
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

    ALTER TABLE closed_months ADD COLUMN acknowledged jsonb NOT NULL DEFAULT '[]';

    ALTER TABLE account_invitations
      ADD COLUMN mail text CHECK (mail IN ('ordered', 'sent', 'failed')),
      ADD COLUMN mail_attempts integer NOT NULL DEFAULT 0,
      ADD COLUMN mail_due_at timestamptz,
      ADD CONSTRAINT account_invitations_are_due_if_ordered
        CHECK (coalesce(mail = 'ordered', false) = (mail_due_at IS NOT NULL));
    CREATE INDEX account_invitations_due ON account_invitations (mail_due_at) WHERE mail_due_at IS NOT NULL;
  `);
}

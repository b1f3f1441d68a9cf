-- The period of a plan whose terms apply to an account: of the latest paid invoice, unless it or its subscription is over.
CREATE OR REPLACE FUNCTION current_plan(owner_id text, moment timestamptz) RETURNS SETOF plan_periods LANGUAGE sql STABLE AS $$
  SELECT period.* FROM plan_periods AS period JOIN subscriptions AS subscription ON subscription.id = period.subscription_id
  WHERE period.account_id = owner_id AND period.limits_until > moment
    AND (subscription.ends_at IS NULL OR subscription.ends_at > moment)
  ORDER BY period.invoiced_at DESC, period.invoice_id DESC LIMIT 1
$$;

-- The amount that a payment gave back to its payer, by refunds that did not fail and by disputes that were not won.
CREATE OR REPLACE FUNCTION returned_amount(payment returned_payments) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(payment.refunded - (
      SELECT coalesce(sum((failed.value ->> 'amount')::numeric), 0) FROM jsonb_each(payment.failed_refunds) AS failed
      WHERE (failed.value ->> 'failed_at')::bigint >= payment.refunded_at), 0)
    + (SELECT coalesce(sum((dispute.value ->> 'amount')::numeric), 0) FROM jsonb_each(payment.disputes) AS dispute
      WHERE NOT (dispute.value ->> 'is_won')::boolean)
$$;

/** What text costs the operator, for each edition of the catalogue, kept as long as the usage that it applies to. */
import { OperatorError } from '../../domain/operator-error.ts';
import type { TextCost } from '../../domain/pricing.ts';
import type { Database } from '../database.ts';

/** Costs were changed without changing the version. */
export class TextCostChangedError extends OperatorError {
  override readonly name = 'TextCostChangedError';
}

/**
 * Stores the costs of a version, unless they are already stored. A version may get costs that it did not have: they also apply to
 * what was already answered under it.
 *
 * @throws TextCostChangedError if a route of this version has a different stored cost
 */
export async function recordTextCosts(database: Database, costs: readonly TextCost[]): Promise<void> {
  if (costs.length === 0) return;
  const rows = costs.map(({ version, model, upstream, upstreamModel, rates }) => ({
    version,
    model,
    upstream,
    upstream_model: upstreamModel,
    input: rates.input.toString(),
    cached_input: rates.cachedInput.toString(),
    cache_write: rates.cacheWrite.toString(),
    output: rates.output.toString(),
  }));
  await database('text_costs').insert(rows).onConflict(['version', 'model', 'upstream', 'upstream_model']).ignore();
  const { rows: changed } = await database.raw<{ rows: { version: string; model: string; upstream: string }[] }>(
    /* sql */ `
    SELECT kept.version, kept.model, kept.upstream FROM text_costs AS kept
    JOIN jsonb_to_recordset(?::jsonb) AS given(version text, model text, upstream text, upstream_model text, input numeric,
      cached_input numeric, cache_write numeric, output numeric) USING (version, model, upstream, upstream_model)
    WHERE (kept.input, kept.cached_input, kept.cache_write, kept.output)
      <> (given.input, given.cached_input, given.cache_write, given.output)
    ORDER BY kept.model, kept.upstream LIMIT 1`,
    [JSON.stringify(rows)],
  );
  const [first] = changed;
  if (!first) return;
  const { version, model, upstream } = first;
  throw new TextCostChangedError(
    `catalogue ${version} was already used with another cost of ${model} at ${upstream}: give it a new version`,
  );
}

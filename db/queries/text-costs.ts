/** The operator's costs of text in each version of the catalogue, stored as long as the usage that they apply to. */
import { OperatorError } from '../../domain/operator-error.ts';
import type { TextCost } from '../../domain/pricing.ts';
import type { Database } from '../database.ts';
import { parseStoredPricing, type StoredPricing, toStored } from './rate-cards.ts';

/** The catalogue has other costs under the same version. */
export class TextCostChangedError extends OperatorError {
  override readonly name = 'TextCostChangedError';
}

/**
 * Stores the costs of a version, unless they are already stored. A version may get additional costs, which also apply
 * to earlier requests under the version.
 *
 * @throws TextCostChangedError if a route of this version has a different stored cost
 */
export async function recordTextCosts(database: Database, costs: readonly TextCost[]): Promise<void> {
  if (costs.length === 0) return;
  const rows = costs.map(({ version, model, upstream, upstreamModel, pricing }) => {
    const { rates, tiers, peaks } = toStored(pricing);
    return {
      version,
      model,
      upstream,
      upstream_model: upstreamModel,
      input: rates.input,
      cached_input: rates.cachedInput,
      cache_write: rates.cacheWrite,
      cache_write_1h: rates.cacheWrite1h,
      output: rates.output,
      audio_input: rates.audioInput,
      cached_audio_input: rates.cachedAudioInput,
      audio_output: rates.audioOutput,
      character: rates.character,
      audio_second: rates.audioSecond,
      web_search: rates.webSearch,
      search_unit: rates.searchUnit,
      tiers: JSON.stringify(tiers),
      peaks: JSON.stringify(peaks),
    };
  });
  await database('text_costs').insert(rows).onConflict(['version', 'model', 'upstream', 'upstream_model']).ignore();
  const { rows: changed } = await database.raw<{ rows: { version: string; model: string; upstream: string }[] }>(
    /* sql */ `
    SELECT kept.version, kept.model, kept.upstream FROM text_costs AS kept
    JOIN jsonb_to_recordset(:rows::jsonb) AS given(version text, model text, upstream text, upstream_model text, input numeric,
      cached_input numeric, cache_write numeric, cache_write_1h numeric, output numeric,
      audio_input numeric, cached_audio_input numeric, audio_output numeric, "character" numeric, audio_second numeric, web_search numeric, search_unit numeric, tiers text, peaks text)
      USING (version, model, upstream, upstream_model)
    WHERE (kept.input, kept.cached_input, kept.cache_write, kept.cache_write_1h, kept.output,
      kept.audio_input, kept.cached_audio_input, kept.audio_output, kept."character", kept.audio_second, kept.web_search, kept.search_unit, kept.tiers, kept.peaks)
      <> (given.input, given.cached_input, given.cache_write, given.cache_write_1h, given.output,
        given.audio_input, given.cached_audio_input, given.audio_output, given."character", given.audio_second, given.web_search, given.search_unit, given.tiers::jsonb,
        given.peaks::jsonb)
    ORDER BY kept.model, kept.upstream LIMIT 1`,
    { rows: JSON.stringify(rows) },
  );
  const [first] = changed;
  if (!first) return;
  const { version, model, upstream } = first;
  throw new TextCostChangedError(
    `catalogue ${version} was already used with another cost of ${model} at ${upstream}: give it a new version`,
  );
}

interface TextCostRow {
  readonly version: string;
  readonly model: string;
  readonly upstream: string;
  readonly upstream_model: string;
  readonly input: string;
  readonly cached_input: string;
  readonly cache_write: string;
  readonly cache_write_1h: string;
  readonly output: string;
  readonly audio_input: string;
  readonly cached_audio_input: string;
  readonly audio_output: string;
  readonly character: string;
  readonly audio_second: string;
  readonly web_search: string;
  readonly search_unit: string;
  readonly tiers: StoredPricing['tiers'];
  readonly peaks: StoredPricing['peaks'];
}

/** Lists the stored costs of one version of the catalogue; empty if no process has started with it. */
export async function listTextCosts(database: Database, version: string): Promise<readonly TextCost[]> {
  const rows: TextCostRow[] = await database('text_costs').where({ version });
  return rows.map(({ model, upstream, upstream_model: upstreamModel, tiers, peaks, ...rates }) => {
    const pricing = parseStoredPricing({
      rates: {
        input: rates.input,
        cachedInput: rates.cached_input,
        cacheWrite: rates.cache_write,
        cacheWrite1h: rates.cache_write_1h,
        output: rates.output,
        audioInput: rates.audio_input,
        cachedAudioInput: rates.cached_audio_input,
        audioOutput: rates.audio_output,
        character: rates.character,
        audioSecond: rates.audio_second,
        webSearch: rates.web_search,
        searchUnit: rates.search_unit,
      },
      tiers,
      peaks,
    });
    return { version, model, upstream, upstreamModel, pricing };
  });
}

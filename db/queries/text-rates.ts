/** SQL for the operator’s rates of text. `functions/text-costs.sql` computes costs by them. */

/** SQL that joins the operator's `rates`. @param used a text request or a failed attempt */
export function joinRates(used: string): string {
  return `LEFT JOIN text_costs AS rates ON rates.version = ${used}.catalogue_version AND rates.model = ${used}.model
    AND rates.upstream = ${used}.upstream AND rates.upstream_model = ${used}.upstream_model`;
}

/** Failed attempts with their rates, for a `FROM` clause. */
export const FAILED_ATTEMPTS_WITH_RATES = `failed_text_attempts AS attempt ${joinRates('attempt')}`;

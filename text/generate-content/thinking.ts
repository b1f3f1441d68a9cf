/**
 * The thinking of a request as Gemini models accept it, by the model's name: https://ai.google.dev/gemini-api/docs/thinking. All upstreams
 * that sell these models have the same rules.
 */
import type { JsonObject } from '../../domain/json.ts';
import type { TextRequest } from '../canonical.ts';
import { compact } from '../read.ts';
import { budgetOf, THREE_EFFORTS } from '../reasoning.ts';
import type { UpstreamOptions } from '../wire-format.ts';

interface Limits {
  /** Whether the model accepts levels. Models accept budgets, too. */
  readonly acceptsLevel: boolean;
  /** The budgets of a model that thinks. */
  readonly budgets: readonly [least: number, most: number];
  readonly canTurnOff: boolean;
}

const VERSION = /gemini-(\d+)/i;
/** The first version with levels. */
const FIRST_WITH_LEVELS = 3;
const PRO_BUDGETS = [128, 32_768] as const;
const FLASH_BUDGETS = [1, 24_576] as const;
const FLASH_LITE_BUDGETS = [512, 24_576] as const;

/** https://github.com/googleapis/python-genai/issues/867: models before 3 refuse a request with tools for JSON. */
export function givesJsonBesideTools(name: string): boolean {
  return limitsOf({ model: name }).acceptsLevel;
}

/** A model with another name is assumed to accept everything. */
function limitsOf({ model, baseModel = model }: Pick<UpstreamOptions, 'model' | 'baseModel'>): Limits {
  const [, version] = VERSION.exec(baseModel) ?? [];
  if (version === undefined) return { acceptsLevel: true, budgets: [1, Infinity], canTurnOff: true };
  if (Number(version) >= FIRST_WITH_LEVELS) return { acceptsLevel: true, budgets: PRO_BUDGETS, canTurnOff: false };
  const isFlash = /flash/i.test(baseModel);
  const flashBudgets = /flash-lite/i.test(baseModel) ? FLASH_LITE_BUDGETS : FLASH_BUDGETS;
  return { acceptsLevel: false, budgets: isFlash ? flashBudgets : PRO_BUDGETS, canTurnOff: isFlash };
}

/**
 * Asks for the text of the thinking, because the other formats show it; undefined for a model that does not think, which refuses
 * the setting. Upstreams refuse a level beside a budget.
 */
export function renderThinking(
  { reasoningEffort: effort, reasoningBudget: budget }: TextRequest,
  options: UpstreamOptions,
): JsonObject | undefined {
  if (options.reasons === false) return undefined;
  const limits = limitsOf(options);
  const isUnwanted = budget === 0 && !limits.canTurnOff;
  if (limits.acceptsLevel && (budget === undefined || isUnwanted)) {
    const level = isUnwanted ? 'none' : effort;
    return compact({ includeThoughts: true, thinkingLevel: level && THREE_EFFORTS[level] });
  }
  const wanted = budget ?? (effort && budgetOf(effort));
  return compact({ includeThoughts: true, thinkingBudget: wanted === undefined ? undefined : within(wanted, limits) });
}

function within(budget: number, { budgets: [least, most], canTurnOff }: Limits): number {
  return budget === 0 && canTurnOff ? 0 : Math.min(Math.max(budget, least), most);
}

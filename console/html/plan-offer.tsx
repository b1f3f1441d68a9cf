/** What a monthly plan costs and includes. */
import type { Plan } from '../../catalogue/site.ts';
import { inLanguage, type Texts } from '../texts/texts.ts';
import { usd } from './components.tsx';
import { InOtherCurrency } from './other-currency.tsx';
import { useTexts } from './page-context.ts';

/** Bounds the size of a page. A plan may name a hundred models. */
const MAX_MODELS_SHOWN = 8;

type PlanTerms = Pick<Plan, 'models' | 'rateLimitRpm' | 'seats'>;

/** The models and the limits of a plan, by their names. */
export function termsOf({ models, rateLimitRpm, seats }: PlanTerms, { plans, fields, language }: Texts) {
  const shown = models?.slice(0, MAX_MODELS_SHOWN) ?? [plans.allModels];
  const others = (models?.length ?? 0) - MAX_MODELS_SHOWN;
  return [
    [fields.models, others > 0 ? `${shown.join(', ')} ${plans.moreModels(others)}` : shown.join(', ')],
    ...(rateLimitRpm === null ? [] : [[fields.rate_limit_rpm, rateLimitRpm.toLocaleString(language)] as const]),
    ...(seats === null ? [] : [[plans.seats, String(seats)] as const]),
  ] as const;
}

/** A plan for those who may choose it. */
export function PlanOffer({ plan }: { plan: Plan }) {
  const texts = useTexts();
  return (
    <div>
      <p>
        <strong>{inLanguage(plan.name, texts)}</strong> {texts.plans.offer(usd(plan.usdPerMonth), usd(plan.included))}
      </p>
      <InOtherCurrency amount={plan.usdPerMonth} />
      <ul class="inline">
        {termsOf(plan, texts).map(([name, value]) => (
          <li>
            <span class="soft">{`${name}:`}</span> {value}
          </li>
        ))}
      </ul>
    </div>
  );
}

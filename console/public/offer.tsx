/** What strangers see of the models: the home page, the models, and their prices. */
import type { ApiServices } from '../../api/services.ts';
import { CAPABILITIES, type PublicModel, publicOffer } from '../../services/operations/public-offer.ts';
import { ApiReference } from '../html/api-reference.tsx';
import { Badge, Card, Empty } from '../html/components.tsx';
import { ChoiceFilter, FieldFilter, Filters } from '../html/filters.tsx';
import { usePage, useQuery, useTexts } from '../html/page-context.ts';
import { PlanOffer } from '../html/plan-offer.tsx';
import { RateNote } from '../html/other-currency.tsx';
import { pictureOf } from '../html/site.tsx';
import { InlinePrices, InlineTerms, PriceFacts, TermFacts } from '../html/terms.tsx';
import { MODEL_KINDS } from '../pages/playground/models.ts';
import { wordFor } from '../texts/texts.ts';
import { exampleCalls } from './example-calls.ts';
import { Examples } from './examples.tsx';
import type { PublicContent, PublicPage } from './page.ts';
import type { Visit } from '../page.ts';

export function offerOf({ catalogue, operations: { models } }: ApiServices): readonly PublicModel[] {
  return publicOffer(catalogue, models);
}

export function pathOfModel(id: string): string {
  return `/models/${encodeURIComponent(id)}`;
}

/** A page of a site that strangers may see. */
function publicPage(
  path: string,
  show: (visit: Visit, offer: readonly PublicModel[], services: ApiServices) => PublicContent | null,
): PublicPage {
  return {
    path,
    show: (visit, services) => (visit.site.isPublic ? show(visit, offerOf(services), services) : null),
  };
}

const homePage = publicPage('/', ({ texts, site }, offer, { publicUrl, money }) => {
  const { site: messages, titles } = texts;
  const first = offer.find(({ kind }) => kind === 'text') ?? offer[0];
  return {
    title: messages.headline,
    description: messages.lead,
    content: (
      <>
        <p class="lead">{messages.lead}</p>
        <p>
          <a class="button" href={site.registration === null ? '/console' : '/console/register'}>
            {messages.start}
          </a>{' '}
          <a class="button quiet" href="/models">
            {titles.models}
          </a>
        </p>
        <ul class="inline">
          {MODEL_KINDS.map((kind) => (
            <li>
              <a href={`/models?kind=${kind}`}>{wordFor('kind', kind, texts)}</a>{' '}
              <span class="soft">{offer.filter((model) => model.kind === kind).length}</span>
            </li>
          ))}
        </ul>
        {first === undefined ? null : <Examples calls={exampleCalls(first, publicUrl).slice(0, 1)} isShort />}
        <Plans money={money} />
        <RateNote />
        {MODEL_KINDS.flatMap((kind) => offer.filter((model) => model.kind === kind).slice(0, HOME_MODELS)).map(
          (model) => (
            <ModelCard {...model} />
          ),
        )}
      </>
    ),
  };
});

/** The operator's monthly plans, with the way to them; nothing where none are sold. */
function Plans({ money: { checkout } }: Pick<ApiServices, 'money'>) {
  const { site, texts } = usePage();
  const { plans: messages } = texts;
  if (checkout === null || site.plans.length === 0) return null;
  return (
    <>
      <h2>{messages.offered}</h2>
      <div class="grid">
        {site.plans.map((plan) => (
          <Card>
            <PlanOffer plan={plan} />
          </Card>
        ))}
      </div>
      <p class="row">
        {site.registration === null ? null : (
          <a class="button" href="/console/register">
            {texts.registration.title}
          </a>
        )}
        <a class="button quiet" href="/console">
          {texts.site.signIn}
        </a>
        <span class="soft">{messages.how}</span>
      </p>
    </>
  );
}

/** The models of each kind on the home page: the first of the catalogue. */
const HOME_MODELS = 2;

/** Keeps a page below 60 kB, also with two currencies. */
const MODELS_PER_PAGE = 40;

const listPage = publicPage('/models', (visit, offer) => {
  const { models: messages, titles, site } = visit.texts;
  const { shown, next } = findModels(visit, offer);
  return {
    title: titles.models,
    description: site.modelCount(offer.length),
    content: (
      <>
        <ModelFilters offer={offer} />
        <p class="soft">{messages.units}</p>
        <RateNote />
        {shown.length === 0 ? <Empty>{messages.none}</Empty> : shown.map((model) => <ModelCard {...model} />)}
        {next === undefined ? null : <More cursor={next.id} />}
      </>
    ),
  };
});

/** The models of a page that the query asks for, and the first model of the next page. */
function findModels({ query }: Visit, offer: readonly PublicModel[]) {
  const part = (query.get('model') ?? '').trim().toLowerCase();
  const isChosen = (name: string, values: readonly (string | null)[]): boolean => {
    const chosen = query.get(name) ?? '';
    return chosen === '' || values.includes(chosen);
  };
  const found = offer.filter(
    ({ id, kind, family, capabilities }) =>
      id.toLowerCase().includes(part) &&
      isChosen('kind', [kind]) &&
      isChosen('family', [family]) &&
      isChosen('capability', capabilities),
  );
  const start = Math.max(
    found.findIndex(({ id }) => id === query.get('cursor')),
    0,
  );
  return { shown: found.slice(start, start + MODELS_PER_PAGE), next: found[start + MODELS_PER_PAGE] };
}

function ModelFilters({ offer }: { offer: readonly PublicModel[] }) {
  const { models: messages, site } = useTexts();
  return (
    <Filters hasViews={false}>
      <FieldFilter name="model" label={messages.part} />
      <ChoiceFilter name="kind" all={messages.allKinds} values={MODEL_KINDS} />
      <ChoiceFilter
        name="family"
        label={site.family}
        all={site.allFamilies}
        values={[...new Set(offer.flatMap((model) => model.family ?? []))]}
      />
      <ChoiceFilter
        name="capability"
        label={site.capability}
        all={site.allCapabilities}
        values={CAPABILITIES.filter((one) => offer.some(({ capabilities }) => capabilities.includes(one)))}
      />
    </Filters>
  );
}

/** @param cursor the first model of the next page */
function More({ cursor }: { cursor: string }) {
  const { site } = useTexts();
  const queryWith = useQuery();
  return (
    <p>
      <a href={queryWith({ cursor })}>{site.more}</a>
    </p>
  );
}

/** The limits by which people choose a model. */
const CARD_TERMS = ['context_tokens', 'max_output_tokens', 'formats', 'duration_seconds', 'images'];

function ModelCard({ id, kind, family, prices, terms, capabilities }: PublicModel) {
  const texts = useTexts();
  return (
    <section class="card">
      <div class="service">
        <h2>
          <a href={pathOfModel(id)}>{id}</a>
        </h2>
        <span class="soft">{family ?? wordFor('kind', kind, texts)}</span>
      </div>
      <InlinePrices prices={prices} withOtherCurrency />
      <InlineTerms terms={terms} names={CARD_TERMS} />
      <CapabilityBadges capabilities={capabilities} />
    </section>
  );
}

function CapabilityBadges({ capabilities }: Pick<PublicModel, 'capabilities'>) {
  const texts = useTexts();
  return (
    <p class="badges">
      {capabilities.map((capability) => (
        <Badge tone="calm">{wordFor('capability', capability, texts)}</Badge>
      ))}
    </p>
  );
}

const modelPage = publicPage('/models/:model', ({ params, texts, site: { pictures } }, offer, { publicUrl }) => {
  const found = offer.find(({ id }) => id === params['model']);
  if (found === undefined) return null;
  const { id, kind, prices, terms, capabilities } = found;
  const { site, common, models } = texts;
  return {
    title: id,
    description: site.about(id, wordFor('kind', kind, texts)),
    ...(pictures.has(id) && { picture: pictureOf(id) }),
    content: (
      <>
        <CapabilityBadges capabilities={capabilities} />
        {pictures.has(id) ? <img class="result" src={pictureOf(id)} alt={site.result(id)} /> : null}
        <Card title={common.prices}>
          <PriceFacts prices={prices} withOtherCurrency />
          <p class="hint">{models.units}</p>
          <RateNote />
        </Card>
        <Card title={site.limits}>
          <TermFacts terms={terms} />
        </Card>
        <Examples calls={exampleCalls(found, publicUrl)} />
        <ApiReference tag={kind === 'text' ? 'Text' : 'Media tasks'} />
      </>
    ),
  };
});

const pricesPage = publicPage('/pricing', (visit, offer, { money }) => {
  const { site, models } = visit.texts;
  const { shown, next } = findModels(visit, byKind(offer));
  return {
    title: site.prices,
    description: site.modelCount(offer.length),
    content: (
      <>
        {visit.query.size > 0 ? null : <Plans money={money} />}
        <ModelFilters offer={offer} />
        <p class="soft">
          {models.units} <a href="/pricing.json">JSON</a>
        </p>
        <RateNote />
        {shown.length === 0 ? <Empty>{models.none}</Empty> : <PriceTables models={shown} />}
        {next === undefined ? null : <More cursor={next.id} />}
      </>
    ),
  };
});

function byKind(offer: readonly PublicModel[]): readonly PublicModel[] {
  return MODEL_KINDS.flatMap((kind) => offer.filter((model) => model.kind === kind));
}

/** A table of the prices for each kind of model. */
function PriceTables({ models }: { models: readonly PublicModel[] }) {
  const texts = useTexts();
  const { fields, common } = texts;
  return (
    <>
      {MODEL_KINDS.filter((kind) => models.some((model) => model.kind === kind)).map((kind) => (
        <section class="card table">
          <h2>{wordFor('kind', kind, texts)}</h2>
          <table>
            <thead>
              <tr>
                <th scope="col">{fields.model}</th>
                <th scope="col">{common.prices}</th>
              </tr>
            </thead>
            <tbody>
              {models
                .filter((model) => model.kind === kind)
                .map(({ id, prices }) => (
                  <tr>
                    <td>
                      <a href={pathOfModel(id)}>{id}</a>
                    </td>
                    <td>
                      <InlinePrices prices={prices} withOtherCurrency />
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        </section>
      ))}
    </>
  );
}

export const offerPages = [homePage, listPage, modelPage, pricesPage];

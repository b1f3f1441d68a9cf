/** Whether the routes of the catalogue and the upstreams fit each other: what is sold must have somewhere to come from. */
import type { Logger } from 'pino';
import type { Catalogue } from '../../catalogue/types.ts';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import type { TaskKind } from '../../domain/task.ts';
import type { WireFormatName } from '../../domain/wire-format-name.ts';
import type { TextUpstreamSettings } from '../../providers/text/settings.ts';
import type { LimitedMediaUpstream } from '../../providers/upstreams.ts';
import { upstreamsOf } from './providers.ts';

/** So many models are named for each mistake. */
const MODELS_NAMED = 5;

/**
 * A kind of which there are no upstreams at all is not checked: whoever has none has not set them up yet.
 *
 * @throws OperatorError with every route that leads nowhere
 */
export function checkRoutes(config: Config, catalogue: Catalogue, log: Pick<Logger, 'warn'>): void {
  const { media, text } = upstreamsOf(config);
  const mistakes = [...mediaMistakes(catalogue, media), ...textMistakes(catalogue, text)];
  if (mistakes.length > 0) {
    const models = config.catalogueFile ?? 'the catalogue that comes with Genway (GENWAY_CATALOGUE is not set)';
    const upstreams = config.providers.routesFile ?? 'the simulator (GENWAY_PROVIDERS is not set)';
    throw new OperatorError([`The routes of ${models} do not fit ${upstreams}:`, ...grouped(mistakes)].join('\n  - '));
  }
  if (media.length === 0) log.warn('there are no upstreams of media: tasks will fail');
  if (text.length === 0) log.warn('there are no upstreams of text: text will be answered 503');
}

interface Mistake {
  readonly what: string;
  readonly model: string;
}

function mediaMistakes(
  { videoModels, imageModels }: Catalogue,
  media: readonly LimitedMediaUpstream[],
): readonly Mistake[] {
  if (media.length === 0) return [];
  const known = new Map(media.map((upstream) => [upstream.name, upstream]));
  return [...videoModels.values(), ...imageModels.values()].flatMap(({ id, kind, routes }) =>
    routes.flatMap(({ provider }) => {
      const what = mediaMistake(provider, kind, known);
      return what === null ? [] : [{ what, model: id }];
    }),
  );
}

function mediaMistake(
  provider: string,
  kind: TaskKind,
  known: ReadonlyMap<string, LimitedMediaUpstream>,
): string | null {
  const upstream = known.get(provider);
  if (!upstream) return `"provider" must be a media upstream, not "${provider}": ${[...known.keys()].join(', ')}`;
  return upstream.adapter.kinds[kind] ? null : `the media upstream "${provider}" renders no ${kind}s`;
}

function textMistakes({ textModels }: Catalogue, text: readonly TextUpstreamSettings[]): readonly Mistake[] {
  if (text.length === 0) return [];
  const known = new Map(text.map((upstream) => [upstream.name, upstream]));
  return [...textModels.values()].flatMap(({ id, routes }) =>
    routes.flatMap(({ provider, format }) => {
      const what = textMistake(provider, format, known);
      return what === null ? [] : [{ what, model: id }];
    }),
  );
}

function textMistake(
  provider: string,
  format: WireFormatName,
  known: ReadonlyMap<string, TextUpstreamSettings>,
): string | null {
  const upstream = known.get(provider);
  if (!upstream) return `"provider" must be a text upstream, not "${provider}": ${[...known.keys()].join(', ')}`;
  if (upstream.baseUrls[format] !== undefined) return null;
  const spoken = Object.keys(upstream.baseUrls).join(', ');
  return `the text upstream "${provider}" has no address for "format" ${format}, only for ${spoken}`;
}

/** A line for each mistake, with the models whose routes have it. */
function grouped(mistakes: readonly Mistake[]): readonly string[] {
  const models = new Map<string, Set<string>>();
  for (const { what, model } of mistakes) models.set(what, (models.get(what) ?? new Set()).add(model));
  return [...models].map(([what, ids]) => {
    const named = [...ids].slice(0, MODELS_NAMED).join(', ');
    return `${what} (in routes of ${named}${ids.size > MODELS_NAMED ? ` and ${ids.size - MODELS_NAMED} more` : ''})`;
  });
}

/** Checks that the upstreams can serve everything that the routes of a catalogue sell. */
import { choose } from '../catalogue/schema-findings.ts';
import type { Finding, OperatorFile } from '../catalogue/operator-file.ts';
import { type UncheckedModel, type UncheckedRoute, readUncheckedModels } from '../catalogue/unchecked-models.ts';
import type { Catalogue } from '../catalogue/types.ts';
import { writePath } from '../domain/substitute-variables.ts';
import { isObject, type JsonObject, listOf, objectOf } from '../domain/json.ts';
import type { TaskKind } from '../domain/task.ts';
import { isVideoResolution } from '../domain/video-size.ts';
import { UPSTREAM_FORMAT_NAMES, WIRE_FORMAT_NAMES } from '../domain/wire-format-name.ts';
import { PLATFORM_NAMES, platformOf } from '../text/platforms/index.ts';
import { deliveryFindings } from './check-deliveries.ts';
import type { KindTraits, MediaAdapter } from './media/adapter.ts';
import { valueIn } from './media/json.ts';
import { MEDIA_PROTOCOL_NAMES, MEDIA_PROTOCOLS } from './media/protocols.ts';
import { findVendorResolution } from './media/resolutions.ts';
import type { Upstreams } from './upstreams.ts';

/** The upstreams that routes may name, by name; the value is null if the entry of the upstream is invalid. */
export interface KnownUpstreams {
  readonly media: ReadonlyMap<string, MediaAdapter | null>;
  /** The formats that each upstream speaks. */
  readonly text: ReadonlyMap<string, readonly string[] | null>;
  /** The text upstreams that are clouds, which have no batch API of a vendor. */
  readonly clouds: ReadonlySet<string>;
}

export function knownUpstreams({ media, text }: Upstreams): KnownUpstreams {
  return {
    media: new Map(media.map(({ name, adapter }) => [name, adapter])),
    text: new Map(text.map(({ name, baseUrls }) => [name, Object.keys(baseUrls)])),
    clouds: new Set(text.filter(({ platform }) => platform !== undefined).map(({ name }) => name)),
  };
}

/** @param document a parsed file of upstreams, not validated */
export function readUncheckedUpstreams(document: unknown): KnownUpstreams {
  const { media, text } = objectOf(document);
  return {
    media: new Map(named(media, adapterOf)),
    text: new Map(named(text, formatsOf)),
    clouds: new Set(
      named(text, ({ platform }) => platform).flatMap(([name, cloud]) => (cloud === undefined ? [] : [name])),
    ),
  };
}

function named<Known>(list: unknown, read: (entry: JsonObject) => Known): readonly (readonly [string, Known])[] {
  return listOf(list).flatMap((entry) =>
    isObject(entry) && typeof entry['name'] === 'string' ? [[entry['name'], read(entry)] as const] : [],
  );
}

function adapterOf({ protocol, api }: JsonObject): MediaAdapter | null {
  const known = MEDIA_PROTOCOL_NAMES.find((name) => name === protocol);
  if (!known) return null;
  return api === undefined ? MEDIA_PROTOCOLS[known] : (valueIn(MEDIA_PROTOCOLS[known].apis ?? {}, api) ?? null);
}

function formatsOf({ platform, base_url: one, base_urls: each }: JsonObject): readonly string[] | null {
  const cloud = PLATFORM_NAMES.find((name) => name === platform);
  if (platform !== undefined) return cloud === undefined ? null : platformOf(cloud).formats;
  if (isObject(each)) return Object.keys(each);
  return one === undefined ? null : WIRE_FORMAT_NAMES;
}

/** Skips a kind without any upstreams, which the operator has not set up yet. */
export function checkRoutes(
  file: OperatorFile,
  upstreams: KnownUpstreams,
  catalogue: Catalogue | null = null,
): readonly Finding[] {
  return readUncheckedModels(file.document).flatMap((model) =>
    model.routes.flatMap((route, index) => {
      const { provider } = route.entry;
      if (typeof provider !== 'string' || file.unsetPaths.has(writePath([...route.path, 'provider']))) return [];
      return [
        ...routeFindings(file, model, { ...route, provider }, upstreams),
        ...soldFindings(file, model, { provider, index }, { upstreams, catalogue }),
      ];
    }),
  );
}

/** Reports what a valid catalogue sells through a route and the upstream cannot deliver. */
function soldFindings(
  file: OperatorFile,
  written: UncheckedModel,
  { provider, index }: { readonly provider: string; readonly index: number },
  { upstreams, catalogue }: { readonly upstreams: KnownUpstreams; readonly catalogue: Catalogue | null },
): readonly Finding[] {
  const id = String(written.entry['id']);
  const model = catalogue?.videoModels.get(id) ?? catalogue?.imageModels.get(id);
  const [route, adapter] = [model?.routes[index], upstreams.media.get(provider)];
  return model && route && adapter ? deliveryFindings(file, written, model, route, adapter) : [];
}

function routeFindings(
  file: OperatorFile,
  model: UncheckedModel,
  route: UncheckedRoute & { readonly provider: string },
  upstreams: KnownUpstreams,
): readonly Finding[] {
  const { kind } = model;
  const { provider, path } = route;
  const known = kind === 'text' ? upstreams.text : upstreams.media;
  if (known.size === 0) return [];
  const at = [...path, 'provider'];
  if (!known.has(provider)) {
    const names = choose(provider, [...known.keys()]);
    const what = kind === 'text' ? 'a text' : 'a media';
    return [file.finding(at, `"${writePath(at)}" must be ${what} upstream, not "${provider}"${names}`)];
  }
  if (kind === 'text') {
    return [
      ...formatFindings(file, route, upstreams.text.get(provider) ?? null),
      ...batchFindings(file, route, upstreams.clouds),
    ];
  }
  const adapter = upstreams.media.get(provider);
  if (!adapter) return [];
  if (adapter.kinds[kind]) return resolutionFindings(file, model, provider, adapter.kinds[kind]);
  const able = upstreamsFor(kind, upstreams);
  const others = able.length === 0 ? '' : ` (${able.join(', ')})`;
  return [file.finding(at, `"${writePath(at)}" must be an upstream that renders ${kind}s${others}, not "${provider}"`)];
}

/** Reports resolutions on sale that the upstream has no word for. */
function resolutionFindings(
  file: OperatorFile,
  { path, entry }: UncheckedModel,
  provider: string,
  { resolutions: names }: KindTraits,
): readonly Finding[] {
  if (!names) return [];
  return ['usd_per_second', 'usd_per_video'].flatMap((prices) => {
    const sold = isObject(entry[prices]) ? Object.keys(entry[prices]) : [];
    return sold
      .filter((resolution) => isVideoResolution(resolution) && findVendorResolution(names, resolution) === null)
      .map((resolution) => {
        const at = [...path, prices, resolution];
        const known = Object.keys(names).join(', ');
        const message = `"${writePath(at)}" must be a resolution that the upstream "${provider}" renders (${known}), not ${resolution}`;
        return file.finding(at, message, { at: 'name' });
      });
  });
}

function formatFindings(
  file: OperatorFile,
  { path, entry: { format }, provider }: UncheckedRoute & { readonly provider: string },
  spoken: readonly string[] | null,
): readonly Finding[] {
  if (spoken === null || typeof format !== 'string' || spoken.includes(format)) return [];
  if (!UPSTREAM_FORMAT_NAMES.some((name) => name === format)) return [];
  const at = [...path, 'format'];
  const message = `"${writePath(at)}" must be one that the upstream "${provider}" has an address for (${spoken.join(', ')}), not ${format}`;
  return [file.finding(at, message)];
}

function batchFindings(
  file: OperatorFile,
  { path, entry, provider }: UncheckedRoute & { readonly provider: string },
  clouds: ReadonlySet<string>,
): readonly Finding[] {
  if (entry['batch'] === undefined || !clouds.has(provider)) return [];
  const at = [...path, 'batch'];
  const message = `"${writePath(at)}" must be left out, because the upstream "${provider}" is a cloud, and Genway uses batch APIs of vendors only`;
  return [file.finding(at, message, { at: 'name' })];
}

function upstreamsFor(kind: TaskKind, { media }: KnownUpstreams): readonly string[] {
  return [...media].flatMap(([name, adapter]) => (adapter?.kinds[kind] ? [name] : []));
}

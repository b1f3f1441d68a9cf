/** The fields of a request that have no effect, which answers report: nothing is dropped in silence. */
import type { JsonObject } from '../domain/json.ts';
import type { Setting, TextRequest, UnusedFields } from './canonical.ts';
import { hasCacheMarks, hasPart } from './turns.ts';
import type { UpstreamHalf, WireFormat } from './wire-format.ts';

/** All of them together; undefined without any, so that most requests carry nothing. */
export function unusedFields(...found: readonly (UnusedFields | undefined)[]): UnusedFields | undefined {
  const always = found.flatMap((fields) => fields?.always ?? []);
  const converted = found.flatMap((fields) => fields?.converted ?? []);
  return always.length + converted.length === 0 ? undefined : { always, converted };
}

/**
 * The fields without effect over an upstream that gets the client's own body.
 *
 * @param omitted settings that the upstream would refuse
 */
export function findFieldsUnusedWhenForwarded(
  client: WireFormat,
  request: TextRequest,
  omitted: readonly Setting[] = [],
): readonly string[] {
  return [...(request.unused?.always ?? []), ...settingNames(client, request, omitted)];
}

/**
 * The fields of a client's body for an upstream of the same format that gets a converted request: those that the
 * conversion knows nothing of.
 *
 * @param built the converted body
 */
export function findFieldsPassedOn(
  client: WireFormat,
  upstream: UpstreamHalf,
  { body, request }: { readonly body: JsonObject; readonly request: TextRequest },
  built: JsonObject,
): JsonObject {
  if (client.name !== upstream.name) return {};
  const names = [...(request.unused?.converted ?? []), ...namesOfMissing(client, upstream, request)];
  const passedOn = names.filter((name) => Object.hasOwn(body, name) && !Object.hasOwn(built, name));
  return Object.fromEntries(passedOn.map((name) => [name, body[name]]));
}

/**
 * The fields without effect over an upstream that gets a converted request.
 *
 * @param omitted settings that the request lacks
 * @param passedOn the fields that it gets nevertheless
 */
export function findFieldsUnusedAfterConversion(
  client: WireFormat,
  upstream: UpstreamHalf,
  request: TextRequest,
  omitted: readonly Setting[] = [],
  passedOn: JsonObject = {},
): readonly string[] {
  const { always = [], converted = [] } = request.unused ?? {};
  const found = [...converted, ...namesOfMissing(client, upstream, request)];
  const betas = client.name === upstream.name ? betaFieldNames(request) : new Set<string>();
  return [
    ...always,
    ...found.filter((name) => !betas.has(name) && !Object.hasOwn(passedOn, name)),
    ...settingNames(client, request, omitted),
  ];
}

/** The client's names of the settings that upstreams of a format have no field for. */
function namesOfMissing(client: WireFormat, { upstream }: UpstreamHalf, request: TextRequest): readonly string[] {
  return settingNames(client, request, upstream.missingSettings ?? []);
}

/** The client's names of those settings that the request has. */
function settingNames({ client }: WireFormat, request: TextRequest, settings: readonly Setting[]): readonly string[] {
  return [...new Set(settings)].flatMap((setting) => {
    const name = client.settingNames[setting];
    return name === undefined || !isSet(request, setting) ? [] : [name];
  });
}

/** The fields of tools that upstreams of the client's own format also get in a converted request. */
function betaFieldNames({ betas, tools }: TextRequest): ReadonlySet<string> {
  const names = tools.flatMap(({ betaFields = {} }) => Object.keys(betaFields).map((name) => `tools.${name}`));
  return new Set(betas === undefined ? [] : names);
}

function isSet(request: TextRequest, setting: Setting): boolean {
  const { turns, tools } = request;
  switch (setting) {
    case 'toolChoice':
    case 'verbosity':
    case 'reasoningEffort':
    case 'userId':
    case 'promptCacheKey':
      return request[setting] !== undefined;
    case 'parallelToolCalls':
      return request.parallelToolCalls === false && tools.length > 0;
    case 'strictTools':
      return tools.some(({ strict }) => strict === true);
    case 'imageDetail':
      return hasPart(turns, (part) => part.type === 'image' && (part.detail ?? 'auto') !== 'auto');
    case 'cacheMarks':
      return hasCacheMarks(request);
    default:
      return request.sampling[setting] !== undefined;
  }
}

/** The fields of a request that have no effect, which answers report: nothing is dropped in silence. */
import type { Setting, TextRequest, UnusedFields } from './canonical.ts';
import type { UpstreamHalf, WireFormat } from './wire-format.ts';

/** All of them together; undefined without any, so that most requests carry nothing. */
export function unusedFields(...found: readonly (UnusedFields | undefined)[]): UnusedFields | undefined {
  const always = found.flatMap((fields) => fields?.always ?? []);
  const converted = found.flatMap((fields) => fields?.converted ?? []);
  return always.length + converted.length === 0 ? undefined : { always, converted };
}

/** The fields without effect over an upstream. @param isForwarded whether it gets the client's own body */
export function unusedOver(
  client: WireFormat,
  upstream: UpstreamHalf,
  request: TextRequest,
  isForwarded: boolean,
): readonly string[] {
  const { always = [], converted = [] } = request.unused ?? {};
  if (isForwarded) return always;
  const settings = (upstream.upstream.missingSettings ?? []).flatMap((setting) => {
    const name = isSet(request, setting) ? client.client.settingNames[setting] : undefined;
    return name === undefined ? [] : [name];
  });
  return [...always, ...converted, ...settings];
}

function isSet(request: TextRequest, setting: Setting): boolean {
  if (setting === 'verbosity') return request.verbosity !== undefined;
  if (setting === 'parallelToolCalls') return request.parallelToolCalls === false && request.tools.length > 0;
  return request.sampling[setting] !== undefined;
}

/** A cloud that sells vendors' models: the vendor's format, at the cloud's own addresses. */
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';
import type { UpstreamRequest } from '../wire-format.ts';

export interface Platform {
  /** The formats at the cloud's addresses. */
  readonly formats: readonly UpstreamFormatName[];
  /** The request of a format as the cloud takes it. Paths are relative to the upstream's address. */
  adapt(request: UpstreamRequest, format: UpstreamFormatName): UpstreamRequest;
  /** The refusal in the form of the vendor. @param header reads a header of the answer */
  refusal?(body: unknown, header: (name: string) => string): unknown;
}

/** Headers of a format in which the cloud takes a key by another name. */
export function withKey(
  headers: UpstreamRequest['headers'],
  write: (key: string) => UpstreamRequest['headers'],
): UpstreamRequest['headers'] {
  const { authorization, 'x-api-key': apiKey, 'x-goog-api-key': googleKey, ...others } = headers;
  return { ...others, ...write(apiKey ?? googleKey ?? authorization?.replace(/^Bearer /, '') ?? '') };
}

/** A model's name as a part of a path. */
export function pathOfModel(model: unknown): string {
  // Names of Vertex have the sign of a version: claude-sonnet-4@20250514.
  return encodeURIComponent(String(model)).replaceAll('%40', '@');
}

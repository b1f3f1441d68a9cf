/** The clouds, by the names in the upstreams file. */
import { azure } from './azure.ts';
import { bedrock } from './bedrock.ts';
import type { Platform } from './platform.ts';
import { vertex } from './vertex.ts';

export const PLATFORM_NAMES = ['vertex', 'bedrock', 'azure'] as const;
export type PlatformName = (typeof PLATFORM_NAMES)[number];

/** @param apiVersion of Azure's older addresses; null otherwise */
export function platformOf(name: PlatformName, apiVersion: string | null = null): Platform {
  if (name === 'azure') return azure(apiVersion);
  return name === 'vertex' ? vertex : bedrock;
}

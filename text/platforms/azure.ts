/**
 * Azure OpenAI and Foundry: models by the names of their deployments. The upstream's address is that of the resource.
 * https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle
 */
import { pathOfModel, type Platform, withKey } from './platform.ts';

const CLAUDE_PATH = '/anthropic/v1';

/** @param apiVersion of the older addresses; null for the current ones, which have none */
export function azure(apiVersion: string | null): Platform {
  const addressOf = (path: string, model: unknown): string => {
    if (apiVersion === null) return `/openai/v1${path}`;
    const query = `?api-version=${encodeURIComponent(apiVersion)}`;
    return path.startsWith('/responses')
      ? `/openai${path}${query}`
      : `/openai/deployments/${pathOfModel(model)}${path}${query}`;
  };
  return {
    formats: ['chat-completions', 'responses', 'messages'],
    adapt(request, format) {
      if (format === 'messages') return { ...request, path: `${CLAUDE_PATH}${request.path}` };
      return {
        ...request,
        path: addressOf(request.path, request.body['model']),
        headers: withKey(request.headers, (key) => ({ 'api-key': key })),
      };
    },
  };
}

/**
 * Cleans up what an upstream said when it failed: for operators, in the log, and for the client whose request it was.
 */

const LONGEST_LINE = 300;

/** Anything that looks like a credential, whoever owns it. */
const SECRETS: readonly RegExp[] = [
  /\bbearer\s+[\w.~+/=-]+/gi,
  /\b(?:sk|pk|rk|gsk|xai|key|api|AIza|ya29|eyJ)[-_.]?[\w*.-]{12,}/gi,
  // A credential that is partly masked.
  /[\w-]*\*{3,}[\w-]*/g,
];
/** Text of clients that the upstream quotes. */
const QUOTE = /(?<!\w)(["'`])((?:(?!\1(?!\w)).)*)\1?/g;
const LONG_QUOTE = 40;
const ADDRESS = /\bhttps?:\/\/\S+/gi;
const EMAIL = /[\w.+-]+@[\w-]+\.[\w.-]+/g;
const HOST = /\b(?:\d{1,3}(?:\.\d{1,3}){3}|[\w-]+(?:\.[\w-]+)+(?=:\d)|localhost)(?::\d+)?/gi;
const REQUEST_ID = /[([]?\brequest[ _-]?id\b['"]?[:=]?\s*['"]?[\w-]+['"]?[)\]]?/gi;

/** Matters between the operator and the upstream. A sentence with one of these does not concern the request. */
const OPERATOR_MATTERS = new RegExp(
  [
    String.raw`\b(?:organi[sz]ations?|accounts?|billing|quotas?|credits?|balance|plans?|subscriptions?|invoices?|payments?)\b`,
    String.raw`\b(?:api[ _-]?keys?|credentials?|tokens? (?:is|are) (?:invalid|expired)|projects?|workspaces?|tenants?)\b`,
    String.raw`\b(?:deployments?|endpoints?|regions?|providers?|upstreams?|internal|admin(?:istrator)?|verified|permissions?)\b`,
  ].join('|'),
  'i',
);
/** Makers and hosts of models. Which of them serves a model is the operator's business. */
const VENDORS =
  /\b(?:open-?ai|chatgpt|gpt-[\w.-]+|anthropic|claude[\w.-]*|google|gemini[\w.-]*|vertex|azure|bedrock|aws|deepseek[\w.-]*|mistral[\w.-]*|qwen[\w.-]*|alibaba|dashscope|moonshot[\w.-]*|kimi[\w.-]*|zhipu|glm-[\w.-]+|minimax[\w.-]*|xai|grok[\w.-]*|groq|openrouter|litellm|vllm|llama[\w.-]*|simulator)\b/gi;

/**
 * One log line, without credentials and without long quotations, which may be a client's text.
 *
 * @param secrets removed wherever they occur
 */
export function lineForOperators(message: string, secrets: readonly string[]): string {
  return message === '' ? '' : cut(withoutLongQuotes(withoutSecrets(message, secrets)));
}

/**
 * What a client may read of an upstream's refusal; empty if none of it concerns the request.
 *
 * @param model the upstream's name for the model, which is not the client's
 */
export function wordsForClient(message: string, model: string, secrets: readonly string[]): string {
  const words = withoutSecrets(message, secrets)
    .replaceAll(REQUEST_ID, '')
    .replaceAll(ADDRESS, '')
    .replaceAll(EMAIL, '')
    .replaceAll(HOST, '')
    .replaceAll(wordOf(model), 'the model')
    .replaceAll(VENDORS, 'the model')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const isMarkup = words.startsWith('<') || words.startsWith('{');
  return isMarkup || OPERATOR_MATTERS.test(words) ? '' : cut(words);
}

function withoutSecrets(message: string, secrets: readonly string[]): string {
  let line = beginningOf(message)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  for (const secret of secrets) if (secret !== '') line = line.replaceAll(secret, '[secret]');
  for (const secret of SECRETS) line = line.replaceAll(secret, '[secret]');
  return line;
}

/** Matches a name that is not part of another word. */
function wordOf(name: string): RegExp {
  return new RegExp(`(?<![\\w-])${name.replaceAll(/[^\w-]/g, '\\$&')}(?![\\w-])`, 'g');
}

function withoutLongQuotes(line: string): string {
  return line.replaceAll(QUOTE, (quoted: string, mark: string, inside: string) =>
    inside.length < LONG_QUOTE ? quoted : `${mark}…${mark}`,
  );
}

/** Longer text is not worth searching; a cut word might be part of a secret. */
function beginningOf(message: string): string {
  return message.length <= 4 * LONGEST_LINE ? message : message.slice(0, 4 * LONGEST_LINE).replace(/\S*$/, '');
}

function cut(line: string): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)}…`;
}

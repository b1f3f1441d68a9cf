/**
 * What an upstream said when it refused or failed, made fit for others to read: for operators on one line of the log, and for
 * the client where it is about the request.
 */

const LONGEST_LINE = 300;

/** What looks like a credential, whoever's it is. */
const SECRETS: readonly RegExp[] = [
  /\bbearer\s+[\w.~+/=-]+/gi,
  /\b(?:sk|pk|rk|gsk|xai|key|api|AIza|ya29|eyJ)[-_.]?[\w*.-]{12,}/gi,
  // What somebody wrote who masks a part of one.
  /[\w-]*\*{3,}[\w-]*/g,
];
/** What clients wrote and the upstream repeats. */
const QUOTE = /(?<!\w)(["'`])((?:(?!\1(?!\w)).)*)\1?/g;
const LONG_QUOTE = 40;
const ADDRESS = /\bhttps?:\/\/\S+/gi;
const EMAIL = /[\w.+-]+@[\w-]+\.[\w.-]+/g;
const HOST = /\b(?:\d{1,3}(?:\.\d{1,3}){3}|[\w-]+(?:\.[\w-]+)+(?=:\d)|localhost)(?::\d+)?/gi;
const REQUEST_ID = /[([]?\brequest[ _-]?id\b['"]?[:=]?\s*['"]?[\w-]+['"]?[)\]]?/gi;

/** What is between the operator and the upstream. A sentence with one of these is none about the request. */
const OPERATOR_MATTERS = new RegExp(
  [
    String.raw`\b(?:organi[sz]ations?|accounts?|billing|quotas?|credits?|balance|plans?|subscriptions?|invoices?|payments?)\b`,
    String.raw`\b(?:api[ _-]?keys?|credentials?|tokens? (?:is|are) (?:invalid|expired)|projects?|workspaces?|tenants?)\b`,
    String.raw`\b(?:deployments?|endpoints?|regions?|providers?|upstreams?|internal|admin(?:istrator)?|verified|permissions?)\b`,
  ].join('|'),
  'i',
);
/** Who makes or serves models. Which of them serves one of ours is the operator's business. */
const VENDORS =
  /\b(?:open-?ai|chatgpt|gpt-[\w.-]+|anthropic|claude[\w.-]*|google|gemini[\w.-]*|vertex|azure|bedrock|aws|deepseek[\w.-]*|mistral[\w.-]*|qwen[\w.-]*|alibaba|dashscope|moonshot[\w.-]*|kimi[\w.-]*|zhipu|glm-[\w.-]+|minimax[\w.-]*|xai|grok[\w.-]*|groq|openrouter|litellm|vllm|llama[\w.-]*|simulator)\b/gi;

/**
 * One line for the log, without credentials and without long quotations, which may be a client's.
 *
 * @param secrets what must not stand in it, whatever it looks like
 */
export function lineForOperators(message: string, secrets: readonly string[]): string {
  return cut(withoutLongQuotes(withoutSecrets(message, secrets)));
}

/**
 * What a client may read of an upstream's refusal of its request; empty where nothing of it is about the request.
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

/** A name where it is not a part of another word. */
function wordOf(name: string): RegExp {
  return new RegExp(`(?<![\\w-])${name.replaceAll(/[^\w-]/g, '\\$&')}(?![\\w-])`, 'g');
}

function withoutLongQuotes(line: string): string {
  return line.replaceAll(QUOTE, (quoted: string, mark: string, inside: string) =>
    inside.length < LONG_QUOTE ? quoted : `${mark}…${mark}`,
  );
}

/** More than is shown is not worth looking through; half a word might be half a secret. */
function beginningOf(message: string): string {
  return message.length <= 4 * LONGEST_LINE ? message : message.slice(0, 4 * LONGEST_LINE).replace(/\S*$/, '');
}

function cut(line: string): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)}…`;
}

/**
 * Cleans up the message of an upstream that failed, for operators, in the log, and for the client of the request.
 */
import { cutText } from '../../domain/cut-text.ts';

const MAX_LINE = 300;

/** Matches text that looks like a credential. */
const SECRETS: readonly RegExp[] = [
  /\bbearer\s+[\w.~+/=-]+/gi,
  /\b(?:sk|pk|rk|gsk|xai|key|api|AIza|ya29|eyJ)[-_.]?[\w*.-]{12,}/gi,
  // A partly masked credential.
  /(?<![\w-])[\w-]*(?:\*{3,}[\w-]*)+/g,
];
/** A quotation, which may be a client's text. */
const QUOTE = /(?<!\w)(["'`])((?:(?!\1(?!\w)).)*)\1?/g;
const LONG_QUOTE = 40;
/** Subjects between the operator and the upstream. A sentence about one of them does not concern the request. */
const OPERATOR_MATTERS = new RegExp(
  [
    String.raw`\b(?:organi[sz]ations?|accounts?|billing|quotas?|credits?|balance|plans?|subscriptions?|invoices?|payments?)\b`,
    String.raw`\b(?:api[ _-]?keys?|credentials?|tokens? (?:is|are) (?:invalid|expired)|projects?|workspaces?|tenants?)\b`,
    String.raw`\b(?:deployments?|endpoints?|regions?|providers?|upstreams?|internal|admin(?:istrator)?|verified|permissions?)\b`,
  ].join('|'),
  'i',
);
/** Vendors and hosts of models. A client could send these names as fields to learn which upstream answers. */
const VENDORS =
  /open-?ai|gpt|anthropic|claude|google|gemini|vertex|azure|bedrock|aws|amazon|deepseek|mistral|qwen|alibaba|dashscope|moonshot|kimi|zhipu|glm|minimax|xai|grok|groq|openrouter|litellm|vllm|llama|fireworks|together|cohere|nvidia|simulator/i;

/** The only words of an upstream that reach a client, besides numbers and fields that the client sent. */
const VOCABULARY: ReadonlySet<string> = new Set(
  `a about above actual after all allowed also alternate alternating an and another any are array as assistant at
  audio base64 be because before below beside between blank block blocks both but by call calls can cannot characters
  character choice combination combined contain contained contains content context corresponding count data decode
  decoded different dimension dimensions document documents does duplicate each either element elements empty ends enum
  equal error exactly exceed exceeded exceeds expected field fields file files final first fit fits following for format
  formats found from function functions get given got greater greatest had has have height higher id ids if image images
  immediately in include included includes incorrect input integer invalid is it item items its json key known larger
  largest last least length less limit limits list long longer longest lower malformed many match matches max maximum may
  message messages min minimum missing model more most must name names need needs negative never next no non none not
  null number numbers object of off on once one only or order other out output over page pages parameter parameters parse
  parsed part parts pixels positive present preceding previous problem prompt property properties provide provided range
  read received reduce remove request requested required requires response result results role roles same schema schemas
  section see send sent sequence sequences set should shorter shorten size small smaller specified start starts string
  strings successive such support supported supports system take taken takes temperature text than that the their them
  there these they this to together token tokens too tool tools total true false try type types unable under unexpected
  unique unknown unrecognized unsupported unsupported_value up url use used user uses valid value values video was were
  when where which while white whitespace width with within without wrong your you zero adaptive applies apply
  budget change changed compatible conflict conflicts default defaults deprecated disable disabled effort enable enabled
  ensure feature incompatible instead obsolete omit omitted option options penalty permitted please reasoning
  restricted sampling setting settings specify sure thinking`.split(/\s+/),
);
/** A number with its unit, a name, or a path of names. */
const WORD = /[\p{L}\p{N}_$]+(?:[.'-][\p{L}\p{N}_$]+)*/gu;
const NUMBER = /^\d{1,9}(?:\.\d{1,4})?$/;
/** A sentence of which less than this share is kept is dropped. */
const MIN_KEPT = 0.6;
const LEFT_OUT = '…';

/**
 * Makes one log line, without credentials and without long quotations, which may be a client's text.
 *
 * @param secrets removed wherever they occur
 */
export function toLogLine(message: string, secrets: readonly string[]): string {
  return message === '' ? '' : cut(withoutLongQuotes(withoutSecrets(message, secrets)));
}

/**
 * The part of an upstream's refusal that a client may read: known words, numbers, and the names of fields that the
 * client sent. Empty if too few words are left, or if the sentence does not concern the request.
 *
 * @param sentFields the names of all fields in the client's body
 */
export function redactVendorMessage(message: string, sentFields: ReadonlySet<string>): string {
  const line = beginningOf(message)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  if (line.startsWith('<') || line.startsWith('{') || OPERATOR_MATTERS.test(line)) return '';
  let total = 0;
  let kept = 0;
  const isKept = (word: string): boolean =>
    NUMBER.test(word) || VOCABULARY.has(word.toLowerCase()) || isPath(word, sentFields);
  const known = line
    .replaceAll(WORD, (word) => {
      total += 1;
      if (!isKept(word)) return LEFT_OUT;
      kept += 1;
      return word;
    })
    // Keeps the punctuation of sentences and paths.
    .replaceAll(/[^\p{L}\p{N}_$ .,:;>=<()[\]'"`…-]/gu, LEFT_OUT)
    .replaceAll(/…[^\p{L}\p{N}]*…/gu, LEFT_OUT);
  return kept < total * MIN_KEPT ? '' : cut(known);
}

/** Whether a word is a field that the client sent, or a path of such fields: `messages.1.content`. */
function isPath(word: string, sentFields: ReadonlySet<string>): boolean {
  const names = word.split('.').filter((name) => !NUMBER.test(name));
  return names.length > 0 && names.every((name) => sentFields.has(nameOf(name))) && !VENDORS.test(word);
}

/** A name in the same spelling for every format: `topP` and `top_p` are the same field. */
function nameOf(field: string): string {
  return field.replaceAll('_', '').toLowerCase();
}

/** The names of the fields in a body, up to a limit. Omits names that cannot be a field of any format. */
export function fieldNamesOf(body: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const waiting = [body];
  while (waiting.length > 0 && names.size < MAX_FIELD_NAMES) {
    const value = waiting.pop();
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      if (!Array.isArray(value) && FIELD_NAME.test(name)) names.add(nameOf(name));
      if (typeof inner === 'object') waiting.push(inner);
    }
  }
  return names;
}

const MAX_FIELD_NAMES = 1_000;
const FIELD_NAME = /^[A-Za-z_$][\w$-]{0,63}$/;

function withoutSecrets(message: string, secrets: readonly string[]): string {
  let line = beginningOf(message)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
    .trim();
  for (const secret of secrets) if (secret !== '') line = line.replaceAll(secret, '[secret]');
  for (const secret of SECRETS) line = line.replaceAll(secret, '[secret]');
  return line;
}

function withoutLongQuotes(line: string): string {
  return line.replaceAll(QUOTE, (quoted: string, mark: string, inside: string) =>
    inside.length < LONG_QUOTE ? quoted : `${mark}…${mark}`,
  );
}

/** The start of a message, without a word that was cut in the middle, which might be part of a secret. */
function beginningOf(message: string): string {
  return message.length <= 4 * MAX_LINE ? message : message.slice(0, 4 * MAX_LINE).replace(/(?<!\S)\S*$/, '');
}

function cut(line: string): string {
  return line.length <= MAX_LINE ? line : `${cutText(line, MAX_LINE)}…`;
}

/** A moderation endpoint in the widely used format: `POST /v1/moderations {input, model}`. */
import { randomUUID } from 'node:crypto';
import { isObject, objectOf } from '../domain/json.ts';
import { parseDirectives } from './directives.ts';
import { parseJson, Refusal, type Route, route, sendJson } from './router.ts';

const CATEGORIES = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/instructions',
  'self-harm/intent',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
] as const;
const FLAGGED_CATEGORY = 'violence';

/** Flags a text that holds the directive `[sim:moderate]` or the words "flag me". */
export const moderationRoutes: readonly Route[] = [
  route('POST', '/v1/moderations', (request, response) => {
    const body = parseJson(request);
    const { input, model } = objectOf(body);
    sendJson(response, 200, {
      id: `modr-${randomUUID()}`,
      model: typeof model === 'string' ? model : 'moderation-simulated',
      results: textsOf(input).map((text) => verdict(shouldFlag(text))),
    });
  }),
];

/** One text for each verdict: a list of strings gets one each, a list of parts is one message. */
function textsOf(input: unknown): string[] {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) throw refusedInput();
  if (input.every((item) => typeof item === 'string')) return input;
  return [input.map(textOfPart).join('\n')];
}

function textOfPart(part: unknown): string {
  if (isObject(part) && part['type'] === 'text' && typeof part['text'] === 'string') return part['text'];
  if (isObject(part) && part['type'] === 'image_url') return '';
  throw refusedInput();
}

function refusedInput(): Refusal {
  return new Refusal(
    400,
    'bad_request',
    '"input" must be a string, a list of strings or a list of text and image parts',
  );
}

function shouldFlag(text: string): boolean {
  return parseDirectives(text).has('moderate') || /\bflag me\b/i.test(text);
}

function verdict(flagged: boolean): object {
  const isHit = (category: string): boolean => flagged && category === FLAGGED_CATEGORY;
  return {
    flagged,
    categories: Object.fromEntries(CATEGORIES.map((category) => [category, isHit(category)])),
    category_scores: Object.fromEntries(CATEGORIES.map((category) => [category, isHit(category) ? 0.99 : 0.01])),
  };
}

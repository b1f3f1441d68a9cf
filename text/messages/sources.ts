/** What documents and search results of a request have in no other format: https://platform.claude.com/docs/en/build-with-claude/citations */
import { isObject, type JsonObject, listOf, objectOf } from '../../domain/json.ts';

/** The names of the fields that only models with this format know, such as `document.citations`. */
export function findSourceFields({ messages }: JsonObject): readonly string[] {
  const blocks = listOf(messages).flatMap((message) => blocksIn(objectOf(message)));
  return [...new Set(blocks.flatMap((block) => fieldsOf(block)))];
}

function blocksIn({ content }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap((block) => (block['type'] === 'tool_result' ? blocksIn(block) : [block]));
}

function fieldsOf({ type, source, title, context, citations }: JsonObject): readonly string[] {
  const isCited = objectOf(citations)['enabled'] === true;
  if (type === 'search_result') return isCited ? ['search_result.citations'] : [];
  if (type !== 'document') return [];
  const { type: kind } = objectOf(source);
  // The title of a file is its name, which other formats have.
  const isTitleLost = Boolean(title) && (kind === 'text' || kind === 'content');
  return [
    ...(isCited ? ['document.citations'] : []),
    ...(isTitleLost ? ['document.title'] : []),
    ...(context ? ['document.context'] : []),
  ];
}

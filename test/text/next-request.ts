/** The next request of clients in each format. */
import { isObject, type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import type { WireFormatName } from '../../domain/wire-format-name.ts';

export const MODEL = 'texth-4-argon';

/** The next request of a client that keeps the answer unchanged: the answer, and a result for each of its calls. */
export const NEXT: Readonly<Record<WireFormatName, (answer: JsonObject) => JsonObject>> = {
  'chat-completions': (answer) => {
    const message = objectOf(objectOf(listOf(answer['choices'])[0])['message']);
    const called = objectOf(message['function_call'])['name'];
    const results = listOf(message['tool_calls']).map((call) => ({
      role: 'tool',
      tool_call_id: objectOf(call)['id'],
      content: 'done',
    }));
    const functionResults = typeof called === 'string' && called !== '' ? [{ role: 'function', name: called }] : [];
    const user = { role: 'user', content: 'Go on.' };
    return { model: MODEL, messages: [user, message, ...results, ...functionResults, user] };
  },
  responses: (answer) => {
    const items = listOf(answer['output']).map(objectOf);
    const results = items
      .filter((item) => item['type'] === 'function_call')
      .map((item) => ({ type: 'function_call_output', call_id: item['call_id'], output: 'done' }));
    return { model: MODEL, input: [{ role: 'user', content: 'Go on.' }, ...items, ...results] };
  },
  messages: (answer) => {
    const content = listOf(answer['content']).map(objectOf);
    const results = content
      .filter((block) => block['type'] === 'tool_use')
      .map((block) => ({ type: 'tool_result', tool_use_id: block['id'], content: 'done' }));
    const asks = [{ role: 'user', content: 'Go on.' }];
    const replies = [{ role: 'user', content: [...results, { type: 'text', text: 'Go on.' }] }];
    return { model: MODEL, max_tokens: 9, messages: [...asks, { role: 'assistant', content }, ...replies] };
  },
  'generate-content': (answer) => {
    const content = objectOf(objectOf(listOf(answer['candidates'])[0])['content']);
    const results = listOf(content['parts']).flatMap((part) => {
      const { functionCall } = objectOf(part);
      return isObject(functionCall)
        ? [{ functionResponse: { id: functionCall['id'], name: functionCall['name'], response: {} } }]
        : [];
    });
    const user = { role: 'user', parts: [{ text: 'Go on.' }] };
    return { contents: [user, content, { role: 'user', parts: [...results, { text: 'Go on.' }] }] };
  },
};

/** https://ai.google.dev/api/tokens */
import { countOf, objectOf } from '../../domain/json.ts';
import type { InputCount } from '../wire-format.ts';

export const inputCount: InputCount = {
  request: ({ path, headers, body }) => {
    const address = path.slice(0, path.lastIndexOf(':'));
    // The call takes the model a second time, and counts instructions and tools only in this form.
    const model = decodeURIComponent(address.slice(1));
    return { path: `${address}:countTokens`, headers, body: { generateContentRequest: { ...body, model } } };
  },
  read: (answer) => countOf(objectOf(answer)['totalTokens']),
};

/**
 * The words that requests and answers of text have in common, with which short ones compress to half: the dictionary of
 * https://www.rfc-editor.org/rfc/rfc1950#section-2.2. Compressed values need exactly this text, so a change requires
 * another version of encrypted values. The most frequent words come last.
 */
const REQUESTS = [
  '{"model":"","max_tokens":,"temperature":,"input":"","system":"","messages":[{"role":"system","content":"',
  '"},{"role":"user","content":[{"type":"text","text":"',
];
const ANSWERS = [
  '{"id":"msg_","type":"message","role":"assistant","model":"","content":[{"type":"text","text":""}],',
  '"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":,"cache_creation_input_tokens":0,',
  '"cache_read_input_tokens":0,"output_tokens":',
  '{"id":"resp_","object":"response","created_at":,"status":"completed","output":[{"type":"message","id":"msg_",',
  '"status":"completed","role":"assistant","content":[{"type":"output_text","text":"","annotations":[]}]}],',
  '"usage":{"input_tokens":,"input_tokens_details":{"cached_tokens":0},"output_tokens":,',
  '"output_tokens_details":{"reasoning_tokens":0},"total_tokens":',
  '{"id":"chatcmpl-","object":"chat.completion","created":,"model":"","choices":[{"index":0,"message":',
  '{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":"stop"}],',
  '"usage":{"prompt_tokens":,"completion_tokens":,"total_tokens":,"prompt_tokens_details":{"cached_tokens":0},',
  '"completion_tokens_details":{"reasoning_tokens":0}}}',
];

export const COMPACT_DICTIONARY = Buffer.from([...REQUESTS, ...ANSWERS].join(''));

/** The simulator's text endpoints as bytes: the part of an answer that a fault leaves. */
import { request as httpRequest } from 'node:http';

export interface WireFormat {
  readonly name: string;
  path(stream: boolean): string;
  readonly headers: Readonly<Record<string, string>>;
  body(prompt: string, stream: boolean): object;
  /** An event with a piece of text. */
  readonly pieceEvent: RegExp;
  /** The last event of a whole stream. */
  readonly endEvent: RegExp;
}

const model = 'textc-M3';
const bearer = { authorization: 'Bearer sk-1' };

export const WIRE_FORMATS: readonly WireFormat[] = [
  {
    name: 'chat completions',
    path: () => '/v1/chat/completions',
    headers: bearer,
    body: (prompt, stream) => ({ model, stream, messages: [{ role: 'user', content: prompt }] }),
    pieceEvent: /"delta":\{"content":"[^"]/g,
    endEvent: /data: \[DONE\]\n\n$/,
  },
  {
    name: 'responses',
    path: () => '/v1/responses',
    headers: bearer,
    body: (prompt, stream) => ({ model, stream, input: prompt }),
    pieceEvent: /event: response\.output_text\.delta\n/g,
    endEvent: /event: response\.completed\n.+\n\n$/,
  },
  {
    name: 'messages',
    path: () => '/v1/messages',
    headers: { 'x-api-key': 'sk-1', 'anthropic-version': '2023-06-01' },
    body: (prompt, stream) => ({ model, stream, max_tokens: 1_000_000, messages: [{ role: 'user', content: prompt }] }),
    pieceEvent: /"type":"text_delta"/g,
    endEvent: /event: message_stop\n.+\n\n$/,
  },
  {
    name: 'generate content',
    path: (stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    headers: { 'x-goog-api-key': 'sk-1' },
    body: (prompt) => ({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }),
    pieceEvent: /"parts":\[\{"text":"[^"]/g,
    endEvent: /"finishReason":"STOP".+\r\n\r\n$/,
  },
];

export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Whether the answer was complete by its transfer encoding. */
  readonly complete: boolean;
}

export interface WireQuestion {
  readonly stream?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent instead of the prompt. */
  readonly body?: unknown;
}

/** Sends a request and reads the answer, even if the connection breaks off after the headers. */
export function post(
  baseUrl: string,
  format: WireFormat,
  prompt: string,
  { stream = false, headers = format.headers, body = format.body(prompt, stream) }: WireQuestion = {},
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(baseUrl + format.path(stream), { method: 'POST', headers, agent: false });
    request.once('error', reject);
    request.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      // `complete` reports a connection that breaks off.
      response.on('error', () => {});
      response.once('close', () => {
        const { statusCode = 0, headers: answered, complete } = response;
        resolve({ status: statusCode, headers: answered, text, complete });
      });
    });
    request.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

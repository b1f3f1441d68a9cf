/** A vendor in front of the simulator, with a limited context and outages at will. */
import { request as forwardRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { serveLocally } from '../stack/local-server.ts';

export interface VendorFront {
  readonly url: string;
  /** Whether the vendor answers 503. */
  isDown: boolean;
  /** The number of items of a conversation above which the vendor refuses its next turn; null for none. */
  maxItems: number | null;
  /** The number of items in each conversation that the vendor answered. */
  readonly answered: number[];
  /** The number of conversations that were too long. */
  refused: number;
  close(): Promise<void>;
}

/** The words of vendors about a conversation beyond their context, by the beginning of the path. */
const OVERFLOWS: readonly (readonly [path: string, body: object])[] = [
  [
    '/v1/messages',
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 208380 tokens > 200000 maximum' },
    },
  ],
  [
    '/v1beta/',
    {
      error: {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: 'The input token count (208380) exceeds the maximum number of tokens allowed (200000).',
      },
    },
  ],
  [
    '/v1/',
    {
      error: {
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
        param: 'messages',
        message:
          "This model's maximum context length is 200000 tokens. However, your messages resulted in 208380 tokens. " +
          'Please reduce the length of the messages.',
      },
    },
  ],
];

/** Agents ask for a summary in these words. The vendor answers them, whatever the length of the conversation. */
const SUMMARY_WISH = /summary|summarize|CHECKPOINT COMPACTION/i;

/** Starts a vendor. @param simulatorUrl the address that answers what the vendor does not refuse */
export async function startVendorFront(simulatorUrl: () => string): Promise<VendorFront> {
  const server = await serveLocally((request, response) => void serve(request, response));
  const front: VendorFront = {
    url: server.url,
    isDown: false,
    maxItems: null,
    answered: [],
    refused: 0,
    close: () => server.close(),
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const body = await buffer(request);
    if (front.isDown) return refuse(response, 503, { error: { message: 'The service is unavailable.' } });
    const items = itemsOf(body);
    const isTooLong = front.maxItems !== null && items.length > front.maxItems;
    if (isTooLong && !SUMMARY_WISH.test(JSON.stringify(items.at(-1)))) {
      front.refused += 1;
      const [, overflow = {}] = OVERFLOWS.find(([beginning]) => path.startsWith(beginning)) ?? [];
      return refuse(response, 400, overflow);
    }
    front.answered.push(items.length);
    const { host: _, ...headers } = request.headers;
    forwardRequest(new URL(path, simulatorUrl()), { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    }).end(body);
  }

  return front;
}

/** The items of a conversation, in any of the four formats. */
function itemsOf(body: Buffer): readonly unknown[] {
  const { messages, input, contents }: Record<string, unknown> = JSON.parse(body.toString());
  const items = [messages, input, contents].find(Array.isArray);
  return Array.isArray(items) ? items : [];
}

function refuse(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

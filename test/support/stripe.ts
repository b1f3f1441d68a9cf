/** The API of Stripe on this machine, for tests of payments. */
import { type LocalServer, serveLocally } from '../../lab/stack/local-server.ts';

/** The API of Stripe with checkout pages, one for each call. */
export class SimulatedStripe {
  readonly sessions: {
    readonly id: string;
    readonly accountId: string;
    readonly cents: number;
    readonly session: object;
  }[] = [];
  /** Whether it answers 500. */
  isDown = false;
  #receiver: LocalServer | undefined;

  get url(): string {
    return this.#receiver?.url ?? '';
  }

  async start(): Promise<void> {
    this.#receiver = await serveLocally((request, response) => {
      const { method, url = '' } = request;
      const answer = (body: object, status = 200): void =>
        void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      if (url === '/favicon.ico') return void response.end();
      if (this.isDown) return answer({ error: { type: 'api_error', message: 'Something went wrong.' } }, 500);
      if (url.startsWith('/pay/')) return void response.end('<!doctype html><title>Pay</title><h1>Pay here</h1>');
      if (method === 'POST') {
        let body = '';
        request.on('data', (part: Buffer) => (body += part.toString()));
        request.once('end', () => answer({ id: this.#sell(new URLSearchParams(body)) }));
        return;
      }
      const found = this.sessions.find(({ id }) => url.split('?')[0] === `/v1/checkout/sessions/${id}`);
      if (!found) return answer({ error: { type: 'invalid_request_error', message: 'No such session' } }, 404);
      answer({ ...found.session, url: `${this.url}/pay/${found.id}` });
    });
  }

  #sell(sent: URLSearchParams): string {
    const id = `cs_${this.sessions.length + 1}`;
    const accountId = sent.get('metadata[account_id]') ?? '';
    const cents = Number(sent.get('line_items[0][price_data][unit_amount]'));
    const metadata = Object.fromEntries(
      ['account_id', 'threshold_cents', 'amount_cents'].flatMap((name) => {
        const value = sent.get(`metadata[${name}]`);
        return value === null ? [] : [[name, value]];
      }),
    );
    const card = sent.get('mode') === 'setup' && { customer: 'cus_1', setup_intent: { payment_method: 'pm_1' } };
    this.sessions.push({ id, accountId, cents, session: { id, metadata, ...card } });
    return id;
  }

  stop(): Promise<void> | undefined {
    return this.#receiver?.close();
  }
}

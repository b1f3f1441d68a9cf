import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { OWN_SITE } from '../../catalogue/site.ts';
import { clientSettings } from '../../console/public/client-settings.ts';
import { VERIFY_EXAMPLE } from '../../console/public/verify-example.ts';
import { ERRORS } from '../../domain/errors.ts';
import { SUBSCRIBABLE_EVENTS } from '../../domain/webhook-event.ts';
import { deliveryHeaders, newWebhookSecret } from '../../domain/webhook-signature.ts';
import { WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { useTestConsole } from '../support/console.ts';

const CLIENTS = readFileSync(join(import.meta.dirname, '../../docs/clients.md'), 'utf8');

describe('the guide for developers', () => {
  const app = useTestConsole({ site: () => ({ ...OWN_SITE, name: 'Acme' }) });

  for (const language of ['en', 'zh']) {
    it(`has every error code, event, format and wait of the API in the language ${language}, without Genway's name`, async () => {
      // contract 4.12:4
      const page = await (await fetch(`${app.baseUrl}/docs`, { headers: { 'accept-language': language } })).text();
      for (const fact of [...Object.keys(ERRORS), ...SUBSCRIBABLE_EVENTS, ...WIRE_FORMAT_NAMES, 'x-svc-signature'])
        expect(page).to.contain(`>${fact}</`);
      expect(page).to.contain('5 s, 5 min').and.contain('Acme').and.contain(`lang="${language}"`);
      expect(page).not.to.match(/genway|undefined/i);
      expect(page).to.contain('href="/docs/api"');
    });
  }

  it('shows a receiver that accepts deliveries, and refuses changed and old ones', async () => {
    const loaded: unknown = await import(`data:text/javascript,${encodeURIComponent(VERIFY_EXAMPLE)}`);
    const { isGenuine } = Object(loaded);
    const secret = newWebhookSecret();
    const now = Math.floor(Date.now() / 1_000);
    const headersAt = (timestampSeconds: number) =>
      deliveryHeaders({ secret, timestampSeconds, body: '{}', messageId: 'evt_1', event: 'task.succeeded' });
    expect(isGenuine(headersAt(now), Buffer.from('{}'), secret)).to.equal(true);
    expect(isGenuine(headersAt(now), Buffer.from('{ }'), secret)).to.equal(false);
    expect(isGenuine(headersAt(now - 400), Buffer.from('{}'), secret)).to.equal(false);
    expect(isGenuine({}, Buffer.from('{}'), secret)).to.equal(false);
  });

  it('gives ten clients the settings that docs/clients.md has, which the tests of clients use', () => {
    const place = { url: 'http://127.0.0.1:8081', product: 'Genway', id: 'genway', variable: 'GENWAY_KEY' };
    const settings = clientSettings(place);
    expect(settings).to.have.length(10);
    for (const { client, lines } of settings) {
      const row = CLIENTS.split('\n').find((line) => line.startsWith(`| ${client}`)) ?? '';
      const [, paragraph = ''] = new RegExp(String.raw`^\*\*${client}\*\*([^]*?\n\`\`\`\n)`, 'm').exec(CLIENTS) ?? [];
      for (const line of lines) expect(row + paragraph, client).to.contain(line);
    }
  });
});

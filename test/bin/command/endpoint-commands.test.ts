import { Command } from 'commander';
import { expect } from 'chai';
import { endpointsFor } from '../../../api/endpoints.ts';
import { addCommands } from '../../../bin/command/commands.ts';
import { ENDPOINT_COMMANDS } from '../../../bin/command/endpoint-commands.ts';
import type { AdminClient } from '../../../bin/command/admin-client.ts';

/** The request of a command line, whose words are separated by spaces. */
async function sentBy(line: string): Promise<Parameters<AdminClient['call']>> {
  let sent: Parameters<AdminClient['call']> | undefined;
  const client: AdminClient = {
    call: async (...call) => {
      sent = call;
      return { data: {} };
    },
    text: async () => '',
    stream: async () => (async function* () {})(),
  };
  const program = new Command('genway')
    .option('--json')
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  addCommands(program, async () => client, { print: () => {}, pipe: async () => {} });
  await program.parseAsync(line.split(' '), { from: 'user' });
  if (!sent) throw new Error('nothing was sent');
  return sent;
}

/** Endpoints whose command makes several calls, or prints the answer in its own way. */
const BY_HAND = [
  'getStatement',
  'exportMonth',
  'importVendorBill',
  'reconcile',
  'getReconciliation',
  'acknowledgeFindings',
  // `genway config diff` reads it.
  'getCatalogue',
];

/** Command lines, and what each sends. */
const REQUESTS: Readonly<Record<string, readonly (readonly [line: string, ...sent: unknown[]])[]>> = {
  'put arguments into the path and the body, and options into the body with their types': [
    [
      'keys create acc_1 --name server --usage-limit-usd 0.000000000001 --models a,b --rate-limit-rpm 60',
      'POST',
      '/accounts/acc_1/keys',
      { name: 'server', usage_limit_usd: '0.000000000001', models: ['a', 'b'], rate_limit_rpm: 60 },
    ],
    [
      'accounts adjust acc_1 -2.5 --reason twice',
      'POST',
      '/accounts/acc_1/adjustments',
      { amount_usd: '-2.5', reason: 'twice' },
    ],
  ],
  'send null for a negated option, false for a negated flag, and nothing for an omitted one': [
    ['keys update key_1 --no-models --no-disabled', 'PATCH', '/keys/key_1', { models: null, disabled: false }],
    ['users update usr_1 --no-second-factor', 'PATCH', '/users/usr_1', { second_factor: null }],
    ['users update usr_1 --disabled', 'PATCH', '/users/usr_1', { disabled: true }],
  ],
  'put options of lists into the query, and encode the parts of the path': [
    ['accounts list A&B --suspended --limit 5', 'GET', '/accounts?search=A%26B&suspended=true&limit=5'],
    ['models disable a/b --reason x', 'POST', '/models/a%2Fb/disable', { reason: 'x' }],
  ],
};

describe('the commands of endpoints', () => {
  it('offer every call of the administration once', () => {
    const calls = endpointsFor({ canTakePayments: false }).flatMap(({ id, path }) =>
      path.startsWith('/admin/') ? [id] : [],
    );
    expect([...ENDPOINT_COMMANDS.map(([, call]) => call), ...BY_HAND].toSorted()).to.deep.equal(calls.toSorted());
  });

  for (const [what, requests] of Object.entries(REQUESTS)) {
    it(what, async () => {
      for (const [line, ...sent] of requests) expect(await sentBy(line), line).to.deep.equal(sent);
    });
  }

  it('refuse a text in place of a number, which would remove a limit', async () => {
    for (const line of ['keys update key_1 --rate-limit-rpm 6O', 'accounts update acc_1 --content-days=']) {
      const refusal: unknown = await sentBy(line).catch((error: unknown) => error);
      expect(refusal, line)
        .to.be.an('error')
        .with.property('message')
        .that.matches(/^--[a-z-]+ must be a number, not "/);
    }
  });

  it('refuse a choice that the endpoint does not offer, and a call without a required option', async () => {
    for (const line of ['tasks list --status done', 'accounts suspend acc_1']) {
      const refusal: unknown = await sentBy(line).catch((error: unknown) => error);
      expect(refusal).to.be.an('error').with.property('name', 'CommanderError');
    }
  });
});

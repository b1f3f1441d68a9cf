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

describe('the commands of endpoints', () => {
  it('offer every call of the administration once', () => {
    const calls = endpointsFor({ canTakePayments: false }).flatMap(({ id, path }) =>
      path.startsWith('/admin/') ? [id] : [],
    );
    expect([...ENDPOINT_COMMANDS.map(([, call]) => call), ...BY_HAND].toSorted()).to.deep.equal(calls.toSorted());
  });

  it('put arguments into the path and the body, and options into the body with their types', async () => {
    expect(
      await sentBy('keys create acc_1 --name server --usage-limit-usd 0.000000000001 --models a,b --rate-limit-rpm 60'),
    ).to.deep.equal([
      'POST',
      '/accounts/acc_1/keys',
      { name: 'server', usage_limit_usd: '0.000000000001', models: ['a', 'b'], rate_limit_rpm: 60 },
    ]);
    expect(await sentBy('accounts adjust acc_1 -2.5 --reason twice')).to.deep.equal([
      'POST',
      '/accounts/acc_1/adjustments',
      { amount_usd: '-2.5', reason: 'twice' },
    ]);
  });

  it('send null for a negated option, false for a negated flag, and nothing for an omitted one', async () => {
    expect(await sentBy('keys update key_1 --no-models --no-disabled')).to.deep.equal([
      'PATCH',
      '/keys/key_1',
      { models: null, disabled: false },
    ]);
    expect(await sentBy('users update usr_1 --no-second-factor')).to.deep.equal([
      'PATCH',
      '/users/usr_1',
      { second_factor: null },
    ]);
    expect(await sentBy('users update usr_1 --disabled')).to.deep.equal(['PATCH', '/users/usr_1', { disabled: true }]);
  });

  it('put options of lists into the query, and encode the parts of the path', async () => {
    expect(await sentBy('accounts list A&B --suspended --limit 5')).to.deep.equal([
      'GET',
      '/accounts?search=A%26B&suspended=true&limit=5',
    ]);
    expect(await sentBy('models disable a/b --reason x')).to.deep.equal([
      'POST',
      '/models/a%2Fb/disable',
      { reason: 'x' },
    ]);
  });

  it('refuse a choice that the endpoint does not offer, and a call without a required option', async () => {
    for (const line of ['tasks list --status done', 'accounts suspend acc_1']) {
      const refusal: unknown = await sentBy(line).catch((error: unknown) => error);
      expect(refusal).to.be.an('error').with.property('name', 'CommanderError');
    }
  });
});

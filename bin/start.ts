/** `npm start`: runs PostgreSQL, Temporal, the simulator and every process of Genway on this machine, until Ctrl-C. */
import { once } from 'node:events';
import { inspect } from 'node:util';
import { loadCatalogue } from '../catalogue/load.ts';
import { ConfigurationError, loadFilesConfig, loadStackConfig, type StackConfig } from '../config.ts';
import { firstExample } from '../console/public/example-calls.ts';
import { publicOffer } from '../services/operations/public-offer.ts';
import { killAll } from './stack/child-process.ts';
import { createLocalStack, type RunningStack } from './stack/local-stack.ts';

/** A second signal this soon is the same Ctrl-C: the terminal sends it to the process, and npm forwards it again. */
const SAME_KEYSTROKE_MS = 500;

const stopping = new AbortController();
let firstSignalAt = 0;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (!stopping.signal.aborted) {
      firstSignalAt = performance.now();
      stopping.abort();
    } else if (performance.now() - firstSignalAt > SAME_KEYSTROKE_MS) {
      console.log('stopping immediately');
      killAll();
      process.exit(130);
    }
  });
}

try {
  await run(loadStackConfig());
  process.exit(0);
} catch (error) {
  console.error(`\n${describeFailure(error)}`);
  process.exit(1);
}

/** The message of Genway's own errors, which says what to do; any other error in full. */
function describeFailure(error: unknown): string {
  const isOwn = error instanceof Error && (error.constructor === Error || error instanceof ConfigurationError);
  return isOwn ? error.message : inspect(error);
}

async function run(config: StackConfig): Promise<void> {
  const stack = createLocalStack(config, console.log);
  const stopped = once(stopping.signal, 'abort');
  try {
    console.log(`starting; state is kept in ${config.home}`);
    const started = stack.start().then((description) => console.log(banner(description)));
    await Promise.race([started, stopped]);
    await stopped;
    console.log('stopping; press Ctrl-C again to stop immediately');
  } finally {
    await stack.stop();
  }
}

function banner(description: RunningStack): string {
  const { accounts, people } = description;
  return `
Genway is ready.

  api          ${description.base_url}
  text         ${description.text_base_url}
  Temporal UI  ${description.temporal_ui_url}
  simulator    ${description.simulator_url}
  database     ${description.database_url}
  admin token  ${description.admin_token}

  API keys     ${accounts.funded.api_key}  1,000 USD
               ${accounts.second.api_key}  1,000 USD, another account
               ${accounts.free.api_key}  only signup credit
               ${accounts.empty.api_key}  no balance

The console is at ${description.base_url}/console. Choose a password by a link, which works once:

  a customer   ${people.owner}
  an operator  ${people.operator}
  finance      ${people.finance}

Try it:

${firstCall(description)}

Press Ctrl-C to stop everything; the state is kept.
`;
}

/** A call of the first model of the catalogue. */
function firstCall({ base_url: baseUrl, accounts }: RunningStack): string {
  const { catalogueFile, readVariable } = loadFilesConfig();
  const offer = publicOffer(loadCatalogue(catalogueFile, readVariable), { disabledBy: () => null });
  return (firstExample(offer, baseUrl) ?? '').replace('$API_KEY', accounts.funded.api_key).replaceAll(/^/gm, '  ');
}

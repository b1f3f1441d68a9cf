/** Command-line coding agents, on models whose upstream speaks another format than the agent. */
import { expect } from 'chai';
import { CLIENTS, CODEX_NAMES } from '../../../lab/clients/clients.ts';
import { runProgram } from '../../../lab/clients/tools.ts';
import { nodeWith } from '../../../lab/stack/packages.ts';
import { startTestSearch, type TestSearch } from '../../support/search-service.ts';
import { modelVia, startTestText, type TestText, textModel } from '../../support/text.ts';

/** The first installation downloads some hundred megabytes. */
const INSTALL_MS = 300_000;

describe('a coding agent', () => {
  const model = modelVia('messages');
  const known = Object.values(CODEX_NAMES);
  const models = [model, ...known].map((id) =>
    textModel(id, [{ format: 'messages', serverTools: false }], { compatibility: 'full', webSearch: { maxCalls: 3 } }),
  );
  let search: TestSearch;
  let text: TestText;

  before(async () => {
    search = await startTestSearch();
    text = await startTestText({ models, search: search.service });
  });
  after(async () => {
    await text.stop();
    await search.stop();
  });

  const agents = [
    ...['Codex CLI', 'Gemini CLI', 'Claude Code'].map((name) => [name, model]),
    ...known.map((id) => [`Codex CLI, ${id}`, id]),
  ];
  for (const [name = '', id = ''] of agents) {
    const compaction = ['Codex CLI', 'Claude Code'].includes(name) ? ['compaction'] : [];
    it(`reads a file, runs a shell command${compaction.length > 0 ? ', shortens a conversation that is too long' : ''} and writes a file: ${name}`, async function () {
      this.timeout(INSTALL_MS);
      const client = CLIENTS.find((one) => one.name === name);
      if (client?.packages.from !== 'npm') throw new Error(`${name} is not a client from npm`);
      try {
        await nodeWith(client.packages.names);
      } catch (error) {
        process.stderr.write(`    skipped: npm cannot install ${name} here: ${String(error).slice(0, 300)}\n`);
        this.skip();
      }
      const worked = await runProgram(
        { ...client, model: id },
        { apiUrl: text.baseUrl, textUrl: text.baseUrl, apiKey: text.apiKey, picture: '' },
      );
      expect(worked.split(', ')).to.include.members(['turn', 'read', 'shell', 'write', 'file', ...compaction]);
    });
  }
});

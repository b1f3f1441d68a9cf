import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession, tool } from '@openai/agents/realtime';
import { z } from 'zod';
import { API_KEY, API_URL, CALL, expect, look, MODEL as model, report, SAY } from './check.mjs';

const created = await fetch(`${API_URL}/v1/realtime/client_secrets`, {
  method: 'POST',
  headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
  body: JSON.stringify({ session: { type: 'realtime', model } }),
});
const { value: apiKey } = await created.json();

const parameters = z.object({ city: z.string() });
const agent = new RealtimeAgent({
  name: 'Guide',
  instructions: 'Be brief.',
  tools: [tool({ name: 'look', description: 'Looks at a city.', parameters, execute: look })],
});
const url = `${API_URL.replace(/^http/, 'ws')}/v1/realtime?model=${model}`;
const session = new RealtimeSession(agent, { model, transport: new OpenAIRealtimeWebSocket({ url }) });
let audioBytes = 0;
session.on('audio', ({ data }) => (audioBytes += data.byteLength));
const failed = new Promise((_resolve, reject) => session.on('error', ({ error }) => reject(new Error(String(error)))));
await Promise.race([session.connect({ apiKey }), failed]);

/** The transcript of the first answer that has one. */
const answer = () =>
  new Promise((resolve) => {
    session.transport.on('response.output_audio_transcript.done', ({ transcript }) => resolve(transcript));
  });

const said = answer();
session.sendMessage(SAY);
expect('secret, turn', await Promise.race([said, failed]), 'lighthouse');
expect('audio', audioBytes > 0, 'true');
const called = new Promise((resolve) =>
  session.on('agent_tool_end', (_context, _agent, _tool, result) => resolve(result)),
);
const told = answer();
session.sendMessage(CALL);
expect('tools', await Promise.race([called, failed]), 'rain in Oslo');
expect('result', await Promise.race([told, failed]), 'rain in Oslo');
session.close();
report();

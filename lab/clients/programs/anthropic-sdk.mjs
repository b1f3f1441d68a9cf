import Anthropic from '@anthropic-ai/sdk';
import { CALL, expect, look, MODEL as model, PIXEL, report, SAY, SCHEMA } from './check.mjs';

const client = new Anthropic();
const max_tokens = 4000;
const ask = (messages, settings = {}) => client.messages.create({ model, max_tokens, messages, ...settings });
const said = (content) => [{ role: 'user', content }];
const textOf = (message) => message.content.at(-1).text;

expect('turn', textOf(await ask(said(SAY))), 'lighthouse');
const stream = client.messages.stream({ model, max_tokens, messages: said(SAY), thinking: { type: 'adaptive' } });
const final = await stream.finalMessage();
expect('stream', textOf(final), 'lighthouse');
expect('thinking', JSON.stringify(final.content), '"thinking"');
const tools = [{ name: 'look', input_schema: SCHEMA }];
const called = await ask(said(CALL), { tools });
const { id, input } = called.content.find(({ type }) => type === 'tool_use');
const results = said([{ type: 'tool_result', tool_use_id: id, content: look(input) }]);
const history = [...said(CALL), { role: 'assistant', content: called.content }, ...results];
expect('tools', textOf(await ask(history, { tools })), 'rain in Oslo');
const output_config = { format: { type: 'json_schema', schema: SCHEMA } };
expect('structured', textOf(await ask(said('Name a city.'), { output_config })), '"city"');
const source = { type: 'base64', media_type: 'image/png', data: PIXEL };
const picture = said([
  { type: 'image', source },
  { type: 'text', text: SAY },
]);
expect('image', textOf(await ask(picture)), 'light');
const params = { model, max_tokens, messages: said(SAY) };
const requests = ['first', 'second'].map((custom_id) => ({ custom_id, params }));
let batch = await client.messages.batches.create({ requests });
while (batch.processing_status !== 'ended') {
  await new Promise((resolve) => setTimeout(resolve, 500));
  batch = await client.messages.batches.retrieve(batch.id);
}
expect('batch', batch.request_counts.succeeded, '2');
const texts = [];
for await (const { result } of await client.messages.batches.results(batch.id)) texts.push(textOf(result.message));
expect('batch results', texts.join(), 'lighthouse,');
report();

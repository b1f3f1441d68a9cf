import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai';
import { API_KEY as apiKey, BASE_URL, CALL, expect, look, MODEL, PIXEL, report, SAY, SCHEMA } from './check.mjs';

const openai = createOpenAI({ apiKey, baseURL: `${BASE_URL}/v1` });
const models = [
  openai.chat(MODEL),
  openai.responses(MODEL),
  createAnthropic({ apiKey, baseURL: `${BASE_URL}/v1` })(MODEL),
  createGoogle({ apiKey, baseURL: `${BASE_URL}/v1beta` })(MODEL),
];
const inputSchema = jsonSchema(SCHEMA);
for (const model of models) {
  expect('turn', (await generateText({ model, prompt: SAY })).text, 'lighthouse');
  expect('stream', await streamText({ model, prompt: SAY }).text, 'lighthouse');
  const tools = { look: tool({ inputSchema, execute: async (input) => look(input) }) };
  expect('tools', (await generateText({ model, prompt: CALL, tools, stopWhen: stepCountIs(3) })).text, 'rain in Oslo');
  const output = Output.object({ schema: inputSchema });
  expect('structured', JSON.stringify((await generateText({ model, prompt: 'Name a city.', output })).output), 'city');
  const content = [
    { type: 'text', text: SAY },
    { type: 'image', image: Buffer.from(PIXEL, 'base64') },
  ];
  expect('image', (await generateText({ model, messages: [{ role: 'user', content }] })).text, 'light');
}
report();

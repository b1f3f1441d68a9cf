import { GoogleGenAI } from '@google/genai';
import { CALL, expect, look, MODEL as model, PIXEL, report, SAY, SCHEMA } from './check.mjs';

const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
const ask = (contents, config = {}) => client.models.generateContent({ model, contents, config });

expect('turn', (await ask(SAY)).text, 'lighthouse');
let streamed = '';
for await (const chunk of await client.models.generateContentStream({ model, contents: SAY })) {
  streamed += chunk.text ?? '';
}
expect('stream', streamed, 'lighthouse');
const tools = [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: SCHEMA }] }];
const asked = { role: 'user', parts: [{ text: CALL }] };
const called = await ask([asked], { tools });
const [{ name, args }] = called.functionCalls;
const result = { role: 'user', parts: [{ functionResponse: { name, response: { output: look(args) } } }] };
expect('tools', (await ask([asked, called.candidates[0].content, result], { tools })).text, 'rain in Oslo');
const json = { responseMimeType: 'application/json', responseJsonSchema: SCHEMA };
expect('structured', (await ask('Name a city.', json)).text, '"city"');
const picture = [{ text: SAY }, { inlineData: { mimeType: 'image/png', data: PIXEL } }];
expect('image', (await ask(picture)).text, 'light');
report();

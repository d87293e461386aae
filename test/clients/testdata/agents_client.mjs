// @openai/agents against a hub: an agent of the library's whose model is an agent of the hub's.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.FOREIGN}/node_modules/x.js`);
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const { Agent, run, tool, setTracingDisabled, setOpenAIAPI } = await load('@openai/agents');
const { z } = await load('zod');

setTracingDisabled(true);
for (const api of ['responses', 'chat_completions']) {
  setOpenAIAPI(api);
  const weather = tool({ name: 'weather', description: 'tells the weather', parameters: z.object({ city: z.string() }), execute: async ({ city }) => `rain in ${city}` });
  const agent = new Agent({ name: 'Assistant', instructions: 'Be brief.', model: 'helper', tools: [weather] });
  const plain = await run(agent, `/say Hello, ${api}.`);
  assert.equal(plain.finalOutput, `Hello, ${api}.`);
  const used = await run(agent, '/tool weather {"city":"Bern"}\n/result');
  assert.match(used.finalOutput, /rain in Bern/);
  const stream = await run(agent, '/say In pieces.', { stream: true });
  let text = '';
  for await (const piece of stream.toTextStream()) text += piece;
  await stream.completed;
  assert.equal(text, 'In pieces.');
}
console.log('passed');

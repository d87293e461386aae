// The official SDK's client at a hub, as somebody would write it: what it sees is printed as JSON.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const [, , url, token, machine] = process.argv;

async function connect(capabilities = {}) {
  const client = new Client({ name: 'official-sdk', version: '1' }, { capabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
  return client;
}

const text = (result) => result.content?.map((c) => c.text).join('\n');
const plain = await connect();
const seen = { tools: (await plain.listTools()).tools.map((t) => t.name) };
seen.found = text(await plain.callTool({ name: 'find_tools', arguments: { query: 'which machines are there' } }));
seen.used = text(await plain.callTool({ name: 'use_tool', arguments: { name: 'list_agents', arguments: {} } }));
seen.direct = text(await plain.callTool({ name: 'list_agents', arguments: {} }));
seen.unknown = await plain.request({ method: 'parley/nothing', params: {} }, z.any()).then(() => 'answered', (e) => e.code);

// Somebody at the hub is asked; the call waits for it.
const command = (word) => ({ name: 'shell_exec', arguments: { agent_id: machine, script: `echo "a<b" ${word}` } });
seen.asked = text(await plain.callTool(command('by the inbox')));

// A client that can ask its person is asked itself.
const asking = await connect({ elicitation: {} });
asking.setRequestHandler(ElicitRequestSchema, (request) => {
  seen.shown = request.params.message;
  return { action: 'accept', content: Object.fromEntries(Object.keys(request.params.requestedSchema.properties).map((key) => [key, true])) };
});
seen.elicited = text(await asking.callTool(command('by the client')));

console.log(JSON.stringify(seen));
await plain.close();
await asking.close();

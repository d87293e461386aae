// A model that speaks from a script, over the interface that many real ones
// have, so that pictures show talk and not test commands. A script maps what
// the person says to steps: words, a call {tool, args}, {fail: why} or {wait: true},
// which never ends. After a call the next step follows its result.

import { createServer } from 'node:http';

/** Starts it. What no line of the script fits is answered by `otherwise`. */
export async function startModel(script, otherwise) {
  const server = createServer(async (req, res) => {
    let body = '';
    for await (const piece of req) body += piece;
    if (!req.url.endsWith('/chat/completions')) return void res.writeHead(200, { 'Content-Type': 'application/json' }).end('{"data":[{"id":"demo"}]}');
    const { messages, stream } = JSON.parse(body);
    const [steps, done] = place(messages, script);
    answer(res, steps ? take(steps, done) : [otherwise], stream);
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, stop: () => { server.closeAllConnections(); server.close(); } };
}

const text = (m) => (typeof m.content === 'string' ? m.content : (m.content ?? []).map((p) => p.text ?? '').join(''));

// The last words of the person name the part; the calls since then tell how far it is played.
function place(messages, script) {
  for (let i = messages.length - 1; i >= 0; i--) {
    if (messages[i].role !== 'user') continue;
    const key = Object.keys(script).find((k) => text(messages[i]).endsWith(k));
    if (key) return [script[key], messages.slice(i).filter((m) => m.role === 'assistant' && m.tool_calls?.length).length];
  }
  return [null, 0];
}

// The steps from after so many calls to the next call, that one included.
function take(steps, done) {
  let rest = steps;
  for (let n = 0; n < done; n++) rest = rest.slice(rest.findIndex((s) => typeof s !== 'string') + 1);
  const next = rest.findIndex((s) => typeof s !== 'string');
  return next < 0 ? rest : rest.slice(0, next + 1);
}

let calls = 0;

function answer(res, steps, stream) {
  const refused = steps.find((s) => s.fail);
  if (refused) return void res.writeHead(400, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error: { message: refused.fail, type: 'invalid_request_error' } }));
  const said = steps.filter((s) => typeof s === 'string').join('\n\n');
  const called = steps.filter((s) => s.tool).map((s, index) => ({ index, id: `call_${++calls}`, type: 'function', function: { name: s.tool, arguments: JSON.stringify(s.args) } }));
  const usage = { prompt_tokens: 1840, completion_tokens: Math.ceil(said.length / 4) + 20, total_tokens: 1860 + Math.ceil(said.length / 4) };
  const finish_reason = called.length ? 'tool_calls' : 'stop';
  if (!stream) return void res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: said, ...(called.length ? { tool_calls: called } : {}) }, finish_reason }], usage }));
  res.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const send = (delta, more = {}) => res.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'demo', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`);
  if (said) send({ role: 'assistant', content: said });
  if (steps.some((s) => s.wait)) {
    const beat = setInterval(() => res.write(': still here\n\n'), 1000);
    return void res.on('close', () => clearInterval(beat));
  }
  if (called.length) send({ tool_calls: called });
  send({}, { finish_reason });
  res.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'demo', choices: [], usage })}\n\n`);
  res.end('data: [DONE]\n\n');
}

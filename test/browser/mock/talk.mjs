// The conversations of the mock hub: enough of the agent-first wire, with the
// offline model's commands (/say, /tool, /sleep, /fail), to work on the page.

import { randomUUID } from 'node:crypto';
import { create, fromBinary, toBinary } from '../../../web/node_modules/@bufbuild/protobuf/dist/esm/index.js';
import { ClientMessageSchema, ServerMessageSchema } from '../../../web/src/gen/agentfirst_pb.js';
import { approval } from './hub.mjs';

const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const now = () => new Date().toISOString();

export class MockTalk {
  conversations = new Map();
  providers = [];
  model = 'offline:offline';
  constructor(hub) { this.hub = hub; }

  /** Serves /talk/ws for every page of a browser context. */
  async serve(context) {
    await context.routeWebSocket('**/talk/ws', (ws) => {
      ws.onMessage((data) => void this.#take(ws, fromBinary(ClientMessageSchema, new Uint8Array(data))));
      ws.onClose(() => this.#leave(ws));
    });
  }

  #leave(ws) {
    for (const c of this.conversations.values()) c.devices.delete(ws);
  }

  #find({ agent, sender, thread }, make = false) {
    const key = JSON.stringify([agent, sender || 'user', thread]);
    if (!this.conversations.has(key) && make) {
      this.conversations.set(key, { id: randomUUID(), agent, sender: sender || 'user', thread, title: '', all: [], from: 0, archives: [], devices: new Map(), queue: [], run: null, seq: 0 });
    }
    return this.conversations.get(key);
  }

  #send(ws, requestId, message) {
    try { ws.send(Buffer.from(toBinary(ServerMessageSchema, create(ServerMessageSchema, { message, requestId })))); } catch { /* it left */ }
  }

  #tell(c, runId, event) {
    for (const [ws, requestId] of c.devices) {
      this.#send(ws, requestId, { case: 'conversationEvent', value: { agent: c.agent, sender: c.sender, thread: c.thread, seq: BigInt(c.seq), runId, event } });
    }
  }

  #store(c, role, content, agent, runId) {
    const m = { role, content, agent, seq: BigInt(++c.seq), at: now(), summary: false };
    c.all.push(m);
    c.title ||= content.split(/[\n.]/)[0].slice(0, 60);
    this.#tell(c, runId, { case: 'message', value: m });
    return m;
  }

  async #take(ws, { message: { case: what, value }, requestId }) {
    const answer = (kase, v = {}) => this.#send(ws, requestId, { case: kase, value: v });
    const error = (code, message) => answer('error', { code, message });
    const by = (handle) => [...this.conversations.values()].find((c) => `conversation:${c.id}` === handle);
    switch (what) {
      case 'hello': return answer('hello', { version: 1, hub: 'mock', sender: 'user', scopes: ['talk:admin'] });
      case 'attach': {
        const c = this.#find(value);
        if (!c) return error(404, 'there is no such conversation');
        c.devices.set(ws, requestId);
        const event = (e, runId = '') => answer('conversationEvent', { agent: c.agent, sender: c.sender, thread: c.thread, runId, event: e });
        for (const m of c.all.slice(c.from)) if (m.seq > value.afterSeq) event({ case: 'message', value: m });
        if (c.run) {
          event({ case: 'stream', value: { event: { case: 'start', value: { agent: c.run.agent, runId: c.run.id } } } }, c.run.id);
          for (const e of c.run.open.values()) event({ case: 'stream', value: { event: e } }, c.run.id);
          if (c.run.text) event({ case: 'stream', value: { event: { case: 'chunk', value: { content: c.run.text } } } }, c.run.id);
        }
        return event({ case: 'caughtUp', value: true });
      }
      case 'detach': this.#find(value)?.devices.delete(ws); return answer('pong');
      case 'stream': {
        const c = this.#find(value, true);
        if (c.run && value.mode === 1) {
          const m = { role: 'user', content: value.content, seq: BigInt(++c.seq), at: now() };
          c.all.push(m);
          const event = { case: 'steered', value: { content: value.content, seq: m.seq } };
          answer('stream', { event });
          return this.#tell(c, c.run.id, { case: 'stream', value: { event } });
        }
        c.queue.push({ ws, requestId, value });
        if (c.run) return answer('stream', { event: { case: 'queued', value: { position: c.queue.length, runId: randomUUID() } } });
        return this.#next(c);
      }
      case 'cancel': {
        const c = this.#find(value);
        if (!c?.run) return error(404, 'nothing runs');
        c.run.cancelled = true;
        return answer('pong');
      }
      case 'replyToAsk': {
        const c = this.#find(value);
        if (!c?.run?.answer) return error(404, 'no question is open');
        c.run.answer(value.content);
        return answer('pong');
      }
      case 'listConversations': {
        const found = [...this.conversations.values()].filter((c) => !value.agent || c.agent === value.agent);
        return answer('conversationList', { conversations: found.map((c) => ({ agent: c.agent, sender: c.sender, thread: c.thread, title: c.title, filePath: `conversation:${c.id}`, messageCount: BigInt(c.all.length), date: now().slice(0, 10) })) });
      }
      case 'listArchives': return answer('archiveList', { archives: this.#find(value)?.archives ?? [] });
      case 'getArchive': {
        for (const c of this.conversations.values()) {
          const info = c.archives.find((a) => a.id === value.id);
          if (info) return answer('archive', { info, messages: c.all.filter((m) => m.seq >= info.fromSeq && m.seq <= info.toSeq) });
        }
        return error(404, 'there is no such archive');
      }
      case 'compact': {
        const c = this.#find(value);
        const window = c?.all.slice(c.from) ?? [];
        if (!window.length) return error(409, 'nothing to archive');
        const summary = `Conversation of ${window.length} messages about "${window[0].content.slice(0, 40)}".${value.focus ? ` Focus: ${value.focus}.` : ''}`;
        const info = { id: randomUUID(), title: summary.slice(0, 60), summary, archivedAt: now(), fromSeq: window[0].seq, toSeq: window.at(-1).seq, messages: window.length };
        c.archives.push(info);
        c.from = c.all.length;
        this.#tell(c, '', { case: 'stream', value: { event: { case: 'compacted', value: { archiveId: info.id, title: info.title, messages: info.messages } } } });
        return answer('compact', { summary, archiveId: info.id, title: info.title, archivedAt: info.archivedAt });
      }
      case 'search': {
        const hits = [];
        for (const c of this.conversations.values()) {
          for (const m of c.all) {
            if (!m.content.toLowerCase().includes(value.query.toLowerCase())) continue;
            const archive = c.archives.find((a) => m.seq >= a.fromSeq && m.seq <= a.toSeq);
            hits.push({ kind: 'message', filePath: `conversation:${c.id}`, archiveId: archive?.id ?? '', agent: c.agent, sender: c.sender, thread: c.thread, seq: m.seq, role: m.role, speaker: m.agent || m.role, snippet: m.content.slice(0, 200), at: m.at, title: c.title });
          }
        }
        return answer('searchResult', { hits: hits.slice(0, 20) });
      }
      case 'setTitle': { const c = by(value.filePath); if (!c) return error(404, 'no such conversation'); c.title = value.title; return answer('pong'); }
      case 'deleteConversation': {
        const c = by(value.filePath);
        if (!c) return error(404, 'no such conversation');
        this.conversations.delete(JSON.stringify([c.agent, c.sender, c.thread]));
        this.#tell(c, '', { case: 'deleted', value: true });
        return answer('pong');
      }
      case 'export': {
        const c = by(value.filePath);
        const lines = [{ agent: c.agent, created_by: c.sender, created_at: now(), title: c.title, uptime_secs: 1 }, ...c.all.map((m) => ({ role: m.role, content: m.content }))];
        return answer('jsonl', { data: Buffer.from(lines.map((l) => JSON.stringify(l)).join('\n') + '\n'), last: true });
      }
      case 'import': {
        const [meta, ...lines] = Buffer.from(value.data).toString().trim().split('\n').map((l) => JSON.parse(l));
        const c = this.#find({ agent: value.agent || meta.agent, sender: meta.created_by, thread: value.thread }, true);
        if (c.all.length && !value.append) return error(409, 'this conversation has messages already.');
        for (const l of lines) this.#store(c, l.role, l.content, '', '');
        return answer('importResult', { messages: lines.length, filePath: `conversation:${c.id}` });
      }
      case 'listModels': return answer('modelList', { models: [{ name: 'offline', provider: 'offline', active: this.model === 'offline:offline', enabled: true }, ...this.providers.filter((p) => p.config.model).map((p) => ({ name: p.config.model, provider: p.name, active: this.model === `${p.name}:${p.config.model}`, enabled: true }))] });
      case 'listProviders': return answer('providerList', { providers: [{ name: 'offline', active: true, enabled: true, config: '{"kind":"offline","model":"offline"}' }, ...this.providers.map((p) => ({ name: p.name, enabled: true, config: JSON.stringify({ ...p.config, api_key: undefined, has_key: !!p.config.api_key }) }))] });
      case 'listProviderPresets': return answer('providerPresetList', { presets: [{ name: 'anthropic', kind: 2, fixedBaseUrl: 'https://api.anthropic.com', defaultModel: 'claude-sonnet-4-5' }, { name: 'ollama', kind: 5, baseUrl: 'http://127.0.0.1:11434/v1' }] });
      case 'setProvider': this.providers = [...this.providers.filter((p) => p.name !== value.name), { name: value.name, config: JSON.parse(value.config) }]; return answer('providerList', { providers: [] });
      case 'deleteProvider': this.providers = this.providers.filter((p) => p.name !== value.name); return answer('pong');
      case 'setActiveModel': this.model = value.model; return answer('pong');
      default: return error(400, `unknown request ${what}`);
    }
  }

  async #next(c) {
    const turn = c.queue.shift();
    if (!turn) return;
    const { value, ws, requestId } = turn;
    const run = { id: randomUUID(), agent: value.guest || c.agent, text: '', cancelled: false, open: new Map() };
    c.run = run;
    const emit = (kase, v = {}) => {
      const event = { case: kase, value: v };
      if (kase === 'askUser') run.open.set(v.askId, event);
      if (kase === 'waiting') run.open.set(v.approvalId, event);
      if (kase === 'askResolved') run.open.delete(v.askId);
      this.#send(ws, requestId, { case: 'stream', value: { event } });
      this.#tell(c, run.id, { case: 'stream', value: { event } });
    };
    const asked = this.#store(c, 'user', value.content, '', run.id);
    emit('start', { agent: run.agent, runId: run.id, seq: asked.seq });
    let failure = '';
    try {
      await this.#script(value.content, run, emit);
    } catch (e) {
      failure = e.message;
    }
    if (run.cancelled) failure = 'cancelled';
    const reply = run.text ? this.#store(c, 'assistant', run.text, value.guest || '', run.id) : null;
    emit('roundUsage', { round: 1, usage: { totalTokens: 120 }, contextUsed: 4200n + BigInt(c.all.length * 100), contextLimit: 200000n });
    emit('end', { agent: run.agent, error: failure, provider: 'offline', model: 'offline', usage: { promptTokens: 100, completionTokens: 20, totalTokens: 120, costMicros: 1500n, rounds: 1 }, stop: run.cancelled ? 4 : failure ? 6 : run.text ? 1 : 2, seq: reply?.seq ?? 0n });
    c.run = null;
    await this.#next(c);
  }

  async #script(text, run, emit) {
    const steps = text.split('\n').filter((l) => /^\/(say|tool|sleep|fail)\b/.test(l));
    const say = async (words) => {
      for (const piece of words.match(/\S*\s*/g).filter(Boolean)) {
        if (run.cancelled) return;
        run.text += piece;
        emit('chunk', { content: piece });
        await wait(4);
      }
    };
    if (!steps.length) return say(`Offline model: I read "${text.slice(0, 120)}". No model is configured.`);
    let call = 0;
    let said = false;
    for (const line of steps) {
      const [, command, rest = ''] = /^\/(\w+) ?(.*)$/.exec(line);
      if (run.cancelled) return;
      if (command === 'say') {
        await say((said ? '\n' : '') + rest);
        said = true;
      } else if (command === 'sleep') {
        for (let left = Number(rest); left > 0 && !run.cancelled; left -= 20) await wait(20);
      } else if (command === 'fail') throw new Error(`offline: ${rest}`);
      else {
        const [, name, args = '{}'] = /^(\S+) ?(.*)$/.exec(rest);
        await this.#tool(name, args, `call_1_${++call}`, run, emit);
      }
    }
  }

  async #tool(name, args, id, run, emit) {
    emit('toolStart', { calls: [{ name, arguments: '', callId: id }] });
    emit('toolStart', { calls: [{ name, arguments: args, callId: id }] });
    let output = '{"ok":true}';
    let isError = false;
    if (name === 'ask_user') {
      const { questions } = JSON.parse(args);
      emit('askUser', { questions: questions.map((q) => ({ ...q, multiSelect: q.multi_select ?? false })), askId: id, expiresAt: new Date(Date.now() + 300_000).toISOString() });
      output = await new Promise((done) => { run.answer = done; });
      emit('askResolved', { askId: id, by: 'ada' });
    } else if (name === 'shell') {
      const a = this.hub.ask(approval({ arguments: JSON.parse(args), requested_by: run.agent }));
      emit('waiting', { approvalId: a.id, tool: name, summary: a.title });
      const outcome = await this.hub.settled(a.id);
      emit('waiting', { approvalId: a.id, tool: name, summary: a.title, resolved: outcome });
      isError = outcome !== 'approved';
      output = isError ? outcome : 'hello from the shell';
    }
    emit('toolResult', { callId: id, output, durationMs: 12n, isError });
    emit('toolsComplete');
  }
}

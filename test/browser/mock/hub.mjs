// A stand-in for the hub while working on the page: the built page, and REST
// answers made up in memory. It checks what the real hub checks of a browser
// (cookie, CSRF value, Origin), so that the same tests run against both.

import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const dist = join(root, 'web/dist');
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png', '.webmanifest': 'application/manifest+json' };

// The page must work under the very policy that the real handler sends.
function policy() {
  const source = readFileSync(join(root, 'internal/face/web/headers.go'), 'utf8');
  const text = /const policy = ([\s\S]*?)\n\n/.exec(source)[1];
  return [...text.matchAll(/"([^"]*)"/g)].map((m) => m[1]).join('');
}

const ago = (s) => new Date(Date.now() - s * 1000).toISOString();
const soon = (s) => ago(-s);
const ADA = { id: 'p1', name: 'ada', kind: 'person' };
const ADMIN = ['admin', 'approval:read', 'approval:respond', 'audit:read', 'device:manage', 'status:read', 'talk', 'talk:admin', 'task:control', 'task:read', 'task:submit', 'terminal:read'];

export function approval(over = {}) {
  return {
    id: randomUUID(), kind: 'tool', title: 'Run a command in the workspace', tool: 'shell',
    arguments: { command: 'rm -rf build/ && make release', cwd: '/srv/app', timeout_ms: 60000 },
    target: 'workspace', reason: 'The release needs a clean build.', requested_by: 'parley', on_behalf_of: 'ada',
    created_at: ago(20), expires_at: soon(280), task_id: 'task-1', may_remember: true, quorum: 1, ...over,
  };
}

export function question(over = {}) {
  return approval({
    kind: 'question', title: 'parley asks about the release', tool: 'ask_user', arguments: {}, target: '', reason: '', task_id: '',
    questions: [
      { question: 'Which channel should the release go to?', header: 'Channel', multi_select: false, options: [{ label: 'stable', description: 'Everybody gets it tonight' }, { label: 'beta', description: 'Only those who asked' }] },
      { question: 'Which notes go out with it?', header: 'Notes', multi_select: true, options: [{ label: 'Changes' }, { label: 'Known problems' }] },
    ], ...over,
  });
}

export async function startMock() {
  const state = {
    logins: new Set(['secret-login']), pairings: new Map([['PAIR-1234', ADMIN]]), tokens: new Map([['prl_' + 'a'.repeat(43), ADMIN], ['prl_' + 'b'.repeat(43), ['status:read']]]),
    sessions: new Map(), streams: new Set(), approvals: new Map(), answers: [],
    people: [{ id: 'p1', name: 'ada', owner: true, created_at: ago(86400 * 40) }],
    devices: [{ id: 'd1', name: 'Pixel 9', principal: ADA, created_at: ago(86400 * 8), last_seen_at: ago(300) }],
    records: [
      { id: 't1', name: 'owner', role: 'operator', scopes: ['admin'], principal: ADA, kind: 'operator', created_at: ago(86400 * 40), expires_at: soon(86400 * 50), last_used_at: ago(60) },
      { id: 't2', name: 'backup script', role: 'operator', scopes: ['status:read', 'audit:read'], principal: ADA, kind: 'operator', created_at: ago(86400 * 12), expires_at: soon(86400 * 78), last_used_at: ago(3600 * 9) },
    ],
    audit: [], down: false, waiting: new Map(),
    agents: [
      { name: 'parley', description: 'The first agent: remembers, looks things up, asks before it acts.', model: 'offline', tools: ['ask_user', 'recall', 'shell'], prompt: 'You are Parley.' },
      { name: 'critic', description: 'Finds what is wrong with a plan.', model: 'offline', tools: [], prompt: 'You find faults.' },
    ],
  };
  const actions = ['session.start', 'tool.call', 'approval.ask', 'approval.answer', 'token.create', 'talk.turn', 'agent.reload'];
  for (let seq = 1; seq <= 120; seq++) {
    state.audit.push({
      seq, at: ago((121 - seq) * 640), actor: seq % 3 ? 'parley' : 'ada', ...(seq % 3 ? { on_behalf_of: 'ada' } : {}),
      action: actions[seq % actions.length], target: seq % 2 ? 'workspace' : 'conversation ' + seq, outcome: seq % 17 === 0 ? 'denied' : 'ok',
      duration_ms: (seq * 37) % 900, digest: createHash('sha256').update(String(seq)).digest('hex').slice(0, 32), detail: { tool: 'shell', address: '127.0.0.1' },
      hash: createHash('sha256').update('h' + seq).digest('hex'),
    });
  }

  const server = createServer((req, res) => void handle(req, res).catch((e) => problem(res, 500, 'internal', String(e))));
  const page = { policy: policy() };

  function problem(res, status, code, detail) {
    send(res, status, { type: 'about:blank', title: { 401: 'Not signed in', 403: 'Forbidden', 404: 'Not found', 409: 'Conflict' }[status] ?? 'Problem', status, detail, code, error: { code, message: detail } }, 'application/problem+json');
  }
  function send(res, status, body, type = 'application/json') {
    res.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
    res.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
  const emit = (name, data) => {
    for (const { res } of state.streams) res.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  };

  function signIn(res, scopes, name, agent = 'Chrome on Linux') {
    const id = randomUUID();
    const session = { id, csrf: randomUUID(), scopes, name, agent };
    state.sessions.set(id, session);
    res.setHeader('Set-Cookie', `parley_session=${id}; Path=/; HttpOnly; SameSite=Strict`);
    send(res, 200, view(session));
  }
  const view = (s) => ({ principal: { id: 'p1', name: s.name, kind: 'person' }, scopes: s.scopes, csrf: s.csrf, expires_at: soon(86400) });

  async function handle(req, res) {
    const url = new URL(req.url, 'http://hub');
    if (state.down) return req.socket.destroy();
    if (!url.pathname.startsWith('/api/')) return file(req, res, url.pathname);
    const own = `http://${req.headers.host}`;
    if (req.headers.origin && req.headers.origin !== own) return problem(res, 403, 'bad_origin', 'Requests from other pages are refused.');
    const body = await read(req);
    const session = state.sessions.get(/parley_session=([^;]+)/.exec(req.headers.cookie ?? '')?.[1]);
    const path = url.pathname.slice(4);

    if (path === '/session' && req.method === 'POST') {
      if (body.login && state.logins.delete(body.login)) return signIn(res, ADMIN, 'ada');
      if (body.pairing && state.pairings.has(body.pairing)) {
        const scopes = state.pairings.get(body.pairing);
        state.pairings.delete(body.pairing);
        return signIn(res, scopes, 'ada', body.name);
      }
      if (body.token && state.tokens.has(body.token)) return signIn(res, state.tokens.get(body.token), 'ada');
      return problem(res, 401, 'unauthorized', 'This proof is unknown, used or expired.');
    }
    if (!session) return problem(res, 401, 'unauthorized', 'Sign in first.');
    if (req.method !== 'GET' && req.headers['x-parley-csrf'] !== session.csrf) return problem(res, 403, 'csrf', 'The CSRF value is missing or old.');
    const need = (scope) => session.scopes.includes('admin') || session.scopes.includes(scope) || (problem(res, 403, 'insufficient_scope', `This needs ${scope}.`), false);

    if (path === '/session' && req.method === 'GET') return send(res, 200, view(session));
    if (path === '/session' && req.method === 'DELETE') { state.sessions.delete(session.id); return send(res, 204, ''); }
    if (path === '/events') {
      res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
      res.write('event: hello\ndata: {}\n\n');
      const stream = { res };
      state.streams.add(stream);
      req.on('close', () => state.streams.delete(stream));
      return;
    }
    if (path === '/status') {
      return send(res, 200, {
        name: 'Parley', version: '0.1.0-mock', hub_id: '0198a7c2-6f1e-7d43-9c52-1f6f8f0f2a11', started_at: ago(9000), uptime_s: 9000, healthy: true,
        checks: [{ name: 'store', ok: true, detail: 'SQLite, last write 2 ms' }, { name: 'audit', ok: true, detail: 'chain intact at start' }, { name: 'agents', ok: true, detail: '2 loaded' }],
        counts: { people: 1, devices: state.devices.length, tokens: state.records.length, approvals_pending: state.approvals.size, agents: 2, conversations: 3, running: 1 },
        model: { active: 'offline', provider: 'offline' }, spend_today_usd: 0.42, warnings: [{ code: 'offline_model', text: 'No model is configured, so agents use the built-in offline model. Set PARLEY_MODEL to change that.' }],
      });
    }
    if (path === '/approvals') return need('approval:read') && send(res, 200, { approvals: [...state.approvals.values()] });
    if (path.startsWith('/approvals/') && req.method === 'POST') {
      const id = decodeURIComponent(path.slice(11));
      if (!state.approvals.has(id)) return problem(res, 404, 'approval_not_found', 'There is no such approval.');
      state.answers.push({ id, ...body });
      return send(res, 200, resolve(id, body.approved ? 'approved' : 'rejected', 'ada'));
    }
    if (path === '/audit') {
      if (!need('audit:read')) return;
      const q = url.searchParams;
      const before = Number(q.get('before') ?? Infinity);
      let found = state.audit.filter((e) => e.seq < before && ['actor', 'action', 'target', 'outcome'].every((f) => !q.get(f) || String(e[f]).startsWith(q.get(f)))).reverse();
      const limit = Number(q.get('limit') ?? 50);
      const more = found.length > limit;
      found = found.slice(0, limit);
      return send(res, 200, { entries: found, next: more ? found.at(-1).seq : 0 });
    }
    if (path === '/audit/hours') return send(res, 200, { hours: Array.from({ length: 24 }, (_, i) => ({ at: ago((23 - i) * 3600), count: (i * 13) % 29, failed: i % 6 === 2 ? 3 : 0 })) });
    if (path === '/audit/verify') return send(res, 200, { ok: true, entries: state.audit.length, checkpoints: 2 });
    if (path === '/audit/export') return send(res, 200, state.audit.map((e) => JSON.stringify(e)).join('\n') + '\n', 'application/jsonl');
    if (path === '/tokens' && req.method === 'GET') return send(res, 200, { tokens: state.records });
    if (path === '/tokens' && req.method === 'POST') {
      const record = { id: randomUUID(), name: body.name, role: body.role, scopes: body.scopes, principal: ADA, kind: body.role, created_at: ago(0), expires_at: soon(86400), last_used_at: null };
      state.records.push(record);
      return send(res, 201, { id: record.id, token: 'prl_' + 'c'.repeat(43), scopes: record.scopes, expires_at: record.expires_at });
    }
    const token = /^\/tokens\/([^/]+)(\/rotate)?$/.exec(path);
    if (token) {
      const record = state.records.find((t) => t.id === token[1]);
      if (!record) return problem(res, 404, 'token_not_found', 'There is no such token.');
      if (token[2]) return send(res, 200, { id: record.id, token: 'prl_' + 'd'.repeat(43), expires_at: record.expires_at, old_valid_until: soon(300) });
      record.revoked_at = ago(0);
      return send(res, 204, '');
    }
    if (path === '/people' && req.method === 'POST') { const p = { id: randomUUID(), owner: false, created_at: ago(0), ...body }; state.people.push(p); return send(res, 201, p); }
    if (path === '/people') return send(res, 200, { people: state.people });
    if (path === '/browsers') return send(res, 200, { browsers: [...state.sessions.values()].map((s) => ({ id: s.id, principal: ADA, agent: s.agent, current: s === session, created_at: ago(60), expires_at: soon(86400), last_used_at: ago(1) })) });
    if (path.startsWith('/browsers/') && req.method === 'DELETE') { state.sessions.delete(path.slice(10)); return send(res, 204, ''); }
    if (path === '/devices') return send(res, 200, { devices: state.devices });
    if (path.startsWith('/devices/') && req.method === 'DELETE') { state.devices = state.devices.filter((d) => d.id !== path.slice(9)); return send(res, 204, ''); }
    if (path === '/pairing') { state.pairings.set('WXYZ-7788', body.scopes ?? ADMIN); return send(res, 201, { code: 'WXYZ-7788', expires_at: soon(900) }); }
    if (path === '/agents' && req.method === 'POST') { state.agents.push(body); return send(res, 201, body); }
    if (path === '/agents') return send(res, 200, { agents: state.agents });
    if (path.startsWith('/agents/')) {
      const agent = state.agents.find((a) => a.name === path.slice(8));
      if (!agent) return problem(res, 404, 'agent_not_found', 'There is no such agent.');
      if (req.method === 'PUT') Object.assign(agent, body);
      if (req.method === 'DELETE') { state.agents = state.agents.filter((a) => a !== agent); return send(res, 204, ''); }
      return send(res, 200, agent);
    }
    return problem(res, 404, 'not_found', 'There is no such thing here.');
  }

  function resolve(id, outcome, by) {
    state.approvals.delete(id);
    const result = { id, outcome, by, resolved_at: ago(0) };
    emit('approval_resolved', result);
    state.waiting.get(id)?.(outcome);
    return result;
  }

  function file(req, res, path) {
    const headers = { 'Content-Security-Policy': page.policy, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Opener-Policy': 'same-origin' };
    let name = join(dist, normalize('/' + path));
    if (!existsSync(name) || statSync(name).isDirectory()) {
      if (extname(path)) { res.writeHead(404, headers); return res.end('no'); }
      name = join(dist, 'index.html');
    }
    let body = readFileSync(name);
    headers['Content-Type'] = types[extname(name)] ?? 'application/octet-stream';
    headers['Cache-Control'] = path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
    if (extname(name) !== '.png') { body = gzipSync(body); headers['Content-Encoding'] = 'gzip'; }
    res.writeHead(200, headers);
    res.end(body);
  }

  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    url, state,
    loginLink: () => { const secret = randomUUID(); state.logins.add(secret); return `${url}/#login=${secret}`; },
    token: 'prl_' + 'a'.repeat(43), narrowToken: 'prl_' + 'b'.repeat(43),
    ask: (a = approval()) => { state.approvals.set(a.id, a); emit('approval', a); return a; },
    resolve,
    settled: (id) => new Promise((done) => state.waiting.set(id, done)),
    cut: () => { for (const { res } of state.streams) res.destroy(); },
    stop: () => { server.closeAllConnections(); return new Promise((done) => server.close(done)); },
  };
}

async function read(req) {
  let text = '';
  for await (const part of req) text += part;
  try { return text ? JSON.parse(text) : {}; } catch { return {}; }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const hub = await startMock();
  hub.ask();
  hub.ask(question());
  console.log(hub.loginLink());
}

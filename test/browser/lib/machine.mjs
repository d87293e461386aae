// A machine without a computer: it speaks the fleet protocol 0.8 with nothing but
// Node, proves itself, reports what it is told to and answers with functions.
//
//   const m = await Machine.join(hub, 'attic-pc', { screen_capture: () => ({ … }) });
//   m.push({ disk: { status: 'crit', summary: 'C: 97% full', volumes: […] } });
//   await m.leave();

import assert from 'node:assert/strict';
import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto';
import { request } from 'node:http';

const LABEL = Buffer.from('kenny-mutual-auth-v1');

export class Machine {
  calls = [];
  #enter;
  #socket;
  #inbox = [];
  #waiting = [];

  /** Enrols under an id and connects; tools answer calls by name. */
  static async join(hub, id, tools = {}, meta = {}) {
    const { token, server_public_key } = await hub.call('POST', `/api/machines/${id}/token`, {});
    const keys = generateKeyPairSync('ed25519');
    const raw = keys.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
    const answer = await fetch(`${hub.url}/api/agents/${id}/enroll`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ public_key: raw.toString('base64') }),
    });
    assert.equal(answer.status, 200, await answer.text());
    const m = new Machine();
    Object.assign(m, { id, tools });
    m.#enter = async (news) => {
      await m.#dial(hub.url);
      await m.#shake(keys.privateKey, server_public_key, { hostname: id.toUpperCase(), os: 'windows', version: '0.8.1', arch: 'amd64', program: 'parley', ...meta, ...news });
      void m.#serve();
    };
    await m.#enter();
    return m;
  }

  /** Comes again after leave, perhaps as another version. */
  back(meta) {
    return this.#enter(meta);
  }

  async #shake(key, pin, meta) {
    const nonce = randomBytes(32);
    this.#send({ type: 'register', agent_id: this.id, protocol: '0.8', client_nonce: nonce.toString('base64'), meta });
    const challenge = await this.#next();
    assert.equal(challenge.type, 'challenge');
    const zero = Buffer.alloc(1);
    const transcript = Buffer.concat([LABEL, zero, Buffer.from(this.id), zero, nonce, zero, Buffer.from(challenge.server_nonce, 'base64')]);
    const head = Buffer.from('302a300506032b6570032100', 'hex'); // an Ed25519 key in SPKI
    const hubKey = createPublicKey({ key: Buffer.concat([head, Buffer.from(pin, 'base64')]), format: 'der', type: 'spki' });
    assert.ok(verify(null, transcript, hubKey, Buffer.from(challenge.server_sig, 'base64')), 'the hub proves itself first');
    this.#send({ type: 'auth', agent_sig: sign(null, transcript, key).toString('base64') });
    assert.equal((await this.#next()).type, 'policy', 'the rules come before anything else');
  }

  async #serve() {
    for (;;) {
      const frame = await this.#next();
      if (!frame) return;
      if (frame.type === 'ping') this.#send({ type: 'pong' });
      if (frame.type !== 'request') continue;
      this.calls.push(frame);
      void this.#answer(frame);
    }
  }

  async #answer({ id, tool, args }) {
    if (this.tools[tool]) this.#send({ type: 'response', id, ok: true, result: await this.tools[tool](args) });
    else this.#send({ type: 'response', id, ok: false, error: { code: 'unsupported', message: `${tool} is not supported here` } });
  }

  /** Sends a snapshot. */
  push(snapshot) {
    this.#send({ type: 'telemetry', agent_id: this.id, collected_at: new Date().toISOString().replace(/\.\d+/, ''), snapshot });
  }

  /** Says goodbye. */
  async leave() {
    const ended = new Promise((done) => this.#socket.once('close', done));
    this.#frame(8, Buffer.from([1001 >> 8, 1001 & 255]));
    await ended;
  }

  // The rest is a WebSocket, as small as it can be: the hub's messages here are whole.
  #dial(url) {
    const key = randomBytes(16).toString('base64');
    return new Promise((done, fail) => {
      const asking = request(`${url}/agent/ws`, { headers: { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': key, 'Sec-WebSocket-Version': '13' } });
      asking.on('response', (r) => fail(new Error(`no tunnel: ${r.statusCode}`))).on('error', fail);
      asking.on('upgrade', (answer, socket, head) => {
        assert.equal(answer.headers['sec-websocket-accept'], createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64'));
        this.#socket = socket;
        let buffer = head;
        socket.on('data', (chunk) => (buffer = this.#split(Buffer.concat([buffer, chunk]))));
        socket.on('close', () => this.#arrived(null)).on('error', () => {});
        done();
      });
      asking.end();
    });
  }

  #split(buffer) {
    while (buffer.length >= 2) {
      let size = buffer[1] & 127;
      const head = size === 126 ? 4 : size === 127 ? 10 : 2;
      if (buffer.length < head) break;
      if (size === 126) size = buffer.readUInt16BE(2);
      if (size === 127) size = Number(buffer.readBigUInt64BE(2));
      if (buffer.length < head + size) break;
      const body = buffer.subarray(head, head + size);
      if ((buffer[0] & 15) === 1) this.#arrived(JSON.parse(body.toString()));
      if ((buffer[0] & 15) === 8) this.#socket.end();
      if ((buffer[0] & 15) === 9) this.#frame(10, body);
      buffer = buffer.subarray(head + size);
    }
    return buffer;
  }

  #arrived(frame) {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(frame);
    else this.#inbox.push(frame);
  }

  #next() {
    if (this.#inbox.length) return Promise.resolve(this.#inbox.shift());
    return new Promise((done) => this.#waiting.push(done));
  }

  #send(frame) {
    this.#frame(1, Buffer.from(JSON.stringify(frame)));
  }

  #frame(kind, body) {
    const mask = randomBytes(4);
    const head = body.length < 126 ? Buffer.from([0x80 | kind, 0x80 | body.length]) : Buffer.alloc(body.length < 65536 ? 4 : 10);
    if (body.length >= 126) {
      head[0] = 0x80 | kind;
      head[1] = 0x80 | (body.length < 65536 ? 126 : 127);
      if (body.length < 65536) head.writeUInt16BE(body.length, 2);
      else head.writeBigUInt64BE(BigInt(body.length), 2);
    }
    this.#socket.write(Buffer.concat([head, mask, body.map((b, i) => b ^ mask[i & 3])]));
  }
}

/** Adds a program with the signature of a release, as `parley machine update --binary` would; gives its checksum. */
export async function addProgram(hub, version, platform) {
  const body = Buffer.from(`not really a program: ${version}`);
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const sum = createHash('sha256').update(body).digest('hex');
  const query = new URLSearchParams({
    platform, version,
    public_key: publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64'),
    signature: sign(null, Buffer.from(['parley-release-v1', version, platform, sum].join('\0')), privateKey).toString('base64'),
  });
  const answer = await fetch(`${hub.url}/api/fleet/binaries?${query}`, { method: 'POST', headers: { Authorization: `Bearer ${hub.token}` }, body });
  assert.equal(answer.status, 201, await answer.text());
  return sum;
}

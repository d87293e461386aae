import { afterEach, describe, expect, it, vi } from 'vitest';
import { RoomConnection, type Memory } from './connect';

/** The hub's end, in the hands of the test. */
class Socket extends EventTarget {
  readyState = 1;
  sent: any[] = [];
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.readyState = 3;
  }
  cut(code = 1006) {
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event('close'), { code }));
  }
  hear(...frames: object[]) {
    for (const f of frames) this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(f) }));
  }
  /** The last frame of a kind, as soon as there is one. */
  last(t: string): Promise<any> {
    return vi.waitFor(() => {
      const frame = this.sent.findLast((f) => f.t === t);
      if (!frame) throw new Error(`no ${t} was sent`);
      return frame;
    });
  }
}

const becomes = (room: RoomConnection, state: string) => vi.waitFor(() => expect(room.state).toBe(state));
afterEach(() => vi.useRealTimers());
const hello = { t: 'hello', v: 1, room: 'r', nonce: 'bm9uY2U', sealed: false };
const self = { t: 'self', id: 'me', kind: 'human', name: 'Ann', grant: { perceive: [], act: [] }, resume: 'secret', seq: 10 };
const enter = [{ t: 'lobby', status: 'admitted' }, self, { t: 'roster', members: [] }, { t: 'caps', rev: 1, grants: { me: { perceive: [], act: ['send-chat'] } } }, { t: 'live', seq: 10 }];

function start(options: object = {}) {
  const sockets: Socket[] = [];
  const room = new RoomConnection('https://hub.test/r/R', {
    name: 'Ann',
    open: () => {
      const s = new Socket();
      sockets.push(s);
      return s as unknown as WebSocket;
    },
    ...options,
  });
  return { room, sockets };
}

describe('a connection', () => {
  it('announces itself and is in', async () => {
    const { room, sockets } = start();
    sockets[0]!.hear(hello);
    expect(await sockets[0]!.last('voice')).toMatchObject({ on: true, name: 'Ann' });
    sockets[0]!.hear(...enter);
    await becomes(room, 'in');
    await vi.waitFor(() => expect(room.getGrant()?.act).toEqual(['send-chat']));
  });

  it('resumes where it was and sends again what was not acknowledged, under the same id', async () => {
    const { room, sockets } = start();
    const s = sockets[0]!;
    s.hear(hello, ...enter, { t: 'from', seq: 12, ts: 1, from: 'p2', c: { k: 'chat', text: 'hi' } });
    await new Promise((done) => room.on('content', done));
    const sent = room.sendChat('mine');
    const first = await s.last('send');
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    s.cut();
    for (let turn = 0; room.state !== 'broken' && turn < 1000; turn++) await Promise.resolve();
    expect(room.state).toBe('broken');
    vi.advanceTimersByTime(20_000);
    vi.useRealTimers();
    const t = sockets[1]!;
    t.hear({ ...hello, nonce: 'dHdv' });
    expect(await t.last('resume')).toMatchObject({ resume: 'secret', since: 12 });
    t.hear({ t: 'lobby', status: 'admitted' }, { ...self, resume: 'next' }, { t: 'live', seq: 13 });
    expect((await t.last('send')).id).toBe(first.id);
    t.hear({ t: 'ack', n: first.n, seq: 14 });
    expect((await sent).seq).toBe(14);
  });

  it('comes in anew when it was away too long', async () => {
    let kept: Memory | undefined = { resume: 'old', since: 3 };
    const { sockets } = start({ memory: { load: () => kept, save: (m: Memory | undefined) => (kept = m) } });
    sockets[0]!.hear(hello);
    expect(await sockets[0]!.last('resume')).toMatchObject({ resume: 'old' });
    sockets[0]!.hear({ t: 'lobby', status: 'unverified', code: 'resume.unknown', reason: 'x' });
    expect(await sockets[0]!.last('voice')).toBeTruthy();
    sockets[0]!.hear(...enter);
    await vi.waitFor(() => expect(kept).toEqual({ resume: 'secret', since: 10 }));
  });

  it('tells what the hub refused', async () => {
    const { room, sockets } = start();
    sockets[0]!.hear(hello, ...enter);
    await becomes(room, 'in');
    const sent = room.sendChat('no');
    const refused = expect(sent).rejects.toMatchObject({ code: 'act.denied' });
    sockets[0]!.hear({ t: 'nak', n: (await sockets[0]!.last('send')).n, code: 'act.denied', reason: 'grant lacks send-chat' });
    await refused;
  });

  it('does not come back when it was kicked', async () => {
    const { room, sockets } = start();
    sockets[0]!.hear(hello, ...enter, { t: 'kick', code: 'kicked', reason: 'out' });
    await becomes(room, 'refused');
    sockets[0]!.cut(4410);
    expect([room.refusal?.code, sockets.length]).toEqual(['kicked', 1]);
  });

  it('notices a hub that hangs: asks after 10 s, is silent after 12, gives up after 25, and comes back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearInterval', 'clearTimeout', 'Date'] });
    const { room, sockets } = start();
    const settle = async () => {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    };
    sockets[0]!.hear(hello, ...enter);
    await settle();
    const silences: boolean[] = [];
    room.on('silent', (s) => silences.push(s));
    const pings = () => sockets[0]!.sent.filter((f) => f.t === 'ping').length;
    vi.advanceTimersByTime(9_000);
    expect([pings(), silences]).toEqual([0, []]);
    vi.advanceTimersByTime(1_000);
    expect(pings()).toBe(1);
    sockets[0]!.hear({ t: 'pong' });
    vi.advanceTimersByTime(10_000);
    expect([pings(), silences, room.state]).toEqual([2, [], 'in']);
    vi.advanceTimersByTime(2_000);
    expect([silences, room.state]).toEqual([[true], 'in']);
    vi.advanceTimersByTime(13_000);
    await settle();
    expect(room.state).toBe('broken');
    vi.advanceTimersByTime(20_000);
    sockets[1]!.hear(hello);
    expect([sockets.length, silences]).toEqual([2, [true, false]]);
    room.leave();
  });

  it('dials again when dialling itself fails', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearInterval', 'clearTimeout'] });
    let tries = 0;
    const room = new RoomConnection('https://hub.test/r/R', {
      open: () => {
        tries++;
        throw new Error('no network');
      },
    });
    expect([room.state, tries]).toEqual(['broken', 1]);
    vi.advanceTimersByTime(5_000);
    expect(tries).toBeGreaterThan(1);
    room.leave();
  });

  it('says again what it publishes, and what is refused at the door is not waited for', async () => {
    const { room, sockets } = start();
    sockets[0]!.hear(hello, ...enter);
    await becomes(room, 'in');
    room.media({ audio: true, camera: false, screen: false }).catch(() => undefined);
    sockets[0]!.sent = [];
    sockets[0]!.hear({ t: 'live', seq: 11 });
    expect(await sockets[0]!.last('media')).toMatchObject({ audio: true });
    const waiting = expect(room.sendChat('hello?')).rejects.toMatchObject({ code: 'kicked' });
    sockets[0]!.hear({ t: 'lobby', status: 'denied', code: 'kicked', reason: 'out' });
    await waiting;
    room.leave();
  });

  it('shows a credit at the door, renews it at half its time, and shows it again when it resumes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
    const credit = (n: number) => `h.${btoa(JSON.stringify({ exp: Math.floor(Date.now() / 1000) + 60, n })).replaceAll('=', '')}.s`;
    const given: string[] = [];
    const { room, sockets } = start({ renewCredit: async () => given[given.push(credit(given.length)) - 1]! });
    const settle = async () => {
      for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    };
    sockets[0]!.hear(hello);
    await settle();
    expect(sockets[0]!.sent.findLast((f) => f.t === 'voice').agentCredit).toBe(given[0]);
    sockets[0]!.hear(...enter);
    await settle();
    for (const more of [9_000, 9_000, 9_000, 2_000]) {
      vi.advanceTimersByTime(more);
      sockets[0]!.hear({ t: 'pong' });
    }
    await settle();
    expect(given.length).toBe(1);
    vi.advanceTimersByTime(2_000);
    await settle();
    expect(given.length).toBe(2);
    const again = sockets[0]!.sent.findLast((f) => f.t === 'voice');
    expect([again.agentCredit, again.name]).toEqual([given[1], undefined]);
    sockets[0]!.cut();
    await settle();
    vi.advanceTimersByTime(1_000);
    sockets[1]!.hear(hello);
    await settle();
    expect(sockets[1]!.sent.findLast((f) => f.t === 'resume').agentCredit).toBe(given[1]);
    room.leave();
    vi.advanceTimersByTime(60_000);
    await settle();
    expect(given.length).toBe(2);
  });

  it('has the servers that the hub gave for links: at the door, inside, and new ones', async () => {
    const { room, sockets } = start();
    const open = { urls: ['stun:192.0.2.1:3478'] };
    const mine = { urls: ['turn:192.0.2.1:3478?transport=udp'], username: '1:p', credential: 'c' };
    sockets[0]!.hear({ ...hello, ice: [open] });
    await vi.waitFor(() => expect(room.ice).toEqual([open]));
    sockets[0]!.hear(enter[0]!, { ...self, ice: [open, mine] }, ...enter.slice(2));
    await becomes(room, 'in');
    expect(room.ice).toEqual([open, mine]);
    const fresh = { ...mine, username: '2:p' };
    sockets[0]!.hear({ t: 'ice', ice: [fresh] });
    await vi.waitFor(() => expect(room.ice).toEqual([fresh]));
    room.leave();
  });

  it('tells a snapshot in the order that existing apps know, and keeps chat and trail', async () => {
    const { room, sockets } = start();
    const heard: string[] = [];
    sockets[0]!.hear(hello, ...enter, { t: 'roster', members: [{ id: 'p1', name: 'Bo', kind: 'human' }] });
    await becomes(room, 'in');
    await vi.waitFor(() => expect(room.getParticipants().length).toBe(1));
    for (const event of ['join', 'leave', 'participants', 'speaking', 'state', 'knocks', 'lobby', 'chat']) room.on(event, () => heard.push(event));
    sockets[0]!.hear({ t: 'roster', members: [{ id: 'p2', name: 'Cy', kind: 'agent' }], lobby: true, waiting: [{ id: 'w1', name: 'Di', kind: 'human' }] });
    await vi.waitFor(() => expect(heard).toEqual(['join', 'leave', 'participants', 'speaking', 'state', 'knocks', 'lobby', 'chat']));
    expect(room.getKnocks()).toEqual([{ id: 'w1', name: 'Di', kind: 'human' }]);
    sockets[0]!.hear({ t: 'from', seq: 11, ts: 5, from: 'p2', c: { k: 'app', data: { __kib_agent: 'chat', text: 'nice lead' } } }, { t: 'audit', e: { kind: 'room.granted' } });
    await vi.waitFor(() => expect(room.getAgentAudit()).toEqual([{ kind: 'room.granted' }]));
    expect(room.getChat()).toEqual([{ id: 'p2', name: 'Cy', text: 'nice lead', ts: 5, self: false }]);
    void room.admit('w1').catch(() => {});
    expect(await sockets[0]!.last('mod')).toMatchObject({ op: 'admit', target: 'w1' });
    room.leave();
  });

  it('keeps a sealed room sealed', async () => {
    const { room, sockets } = start({ roomKey: 'A'.repeat(43) });
    sockets[0]!.hear({ ...hello, sealed: true }, ...enter);
    await becomes(room, 'in');
    void room.sendChat('a secret').catch(() => {});
    expect(JSON.stringify(await sockets[0]!.last('send'))).not.toContain('a secret');
    const without = start();
    without.sockets[0]!.hear({ ...hello, sealed: true }, ...enter);
    await becomes(without.room, 'in');
    await expect(without.room.sendChat('x')).rejects.toMatchObject({ code: 'seal.required' });
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { colonHex, sha256 } from './codec';
import { Mesh, type MeshOptions } from './mesh';

// --- A browser's WebRTC in the hands of the test

const certificate = new Uint8Array([1, 2, 3]);

class Channel extends EventTarget {
  readyState = 'connecting';
  sent: any[] = [];
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  open() {
    this.readyState = 'open';
    this.dispatchEvent(new Event('open'));
  }
  hear(c: unknown) {
    this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(c) }));
  }
}

class Peer extends EventTarget {
  static made: Peer[] = [];
  channel = new Channel();
  lanes: any[] = [];
  signalingState = 'stable';
  connectionState = 'new';
  localDescription: any;
  remoteDescription: any;
  closed = false;
  sctp = { transport: { getRemoteCertificates: () => [certificate.buffer] } };
  constructor(readonly conf?: any) {
    super();
    if (conf?.iceServers?.[0]?.urls?.[0]?.startsWith('nonsense')) throw new Error('this browser does not take it');
    Peer.made.push(this);
  }
  createDataChannel() {
    return this.channel;
  }
  addTransceiver(_: string, { direction }: any) {
    const sender: any = { track: null, replaceTrack: async (t: unknown) => void (sender.track = t) };
    const t = { direction, currentDirection: null, sender };
    this.lanes.push(t);
    return t;
  }
  getTransceivers() {
    return this.lanes;
  }
  async setLocalDescription() {
    this.localDescription = { sdp: 'offer' };
  }
  async setRemoteDescription(d: any) {
    this.remoteDescription = d;
  }
  async addIceCandidate() {}
  close() {
    this.closed = true;
  }
  /** What each lane sends. */
  get sends() {
    return this.lanes.map((t) => t.sender.track);
  }
}

// --- A room in the hands of the test

const full = { perceive: ['see-screen', 'hear-audio', 'read-chat', 'read-roster', 'receive-directed'], act: ['send-chat', 'speak', 'act'] };
const listens = { perceive: ['read-chat', 'read-roster', 'receive-directed'], act: ['send-chat'] };

class Room extends EventTarget {
  room = 'r';
  self = { id: 'a' };
  ice: any[] = [];
  hello = { mesh: { media: true, data: true } };
  roster: any = { members: [] };
  grants: any = {};
  reported: string[] = [];
  relayed: unknown[] = [];
  on(event: string, fn: (v: any) => void) {
    const own = (e: any) => fn(e.value);
    this.addEventListener(event, own);
    return () => this.removeEventListener(event, own);
  }
  onMessage() {
    return () => {};
  }
  tell(event: string, value?: any) {
    this.dispatchEvent(Object.assign(new Event(event), { value }));
  }
  caps(b: any, a: any = full) {
    this.grants = { a, b };
    this.tell('caps', this.grants);
  }
  async send(c: unknown) {
    this.relayed.push(c);
    return { seq: 7 };
  }
  async blocked(id: string, c: string) {
    this.reported.push(`${id} ${c}`);
  }
  async media() {}
  async signal() {}
}

const real = Object.fromEntries(['audio', 'camera', 'screen'].map((lane) => [lane, { real: lane }])) as any;
const silence = { placeholder: 'silence' } as any;
const black = { placeholder: 'black' } as any;
const flowing: MeshOptions['placeholders'] = { audio: { track: () => silence, stop() {} }, video: { track: () => black, stop() {} } };
const none: MeshOptions['placeholders'] = {
  audio: { track: () => null, stop() {} },
  video: {
    track() {
      throw new Error('this browser cannot capture a canvas');
    },
    stop() {},
  },
};

let mesh: Mesh;
let room: Room;
let link: Peer;

/** A mesh with one other in the room, whose link is open and not checked yet. */
async function begin(placeholders = flowing, more: object = {}) {
  room = new Room();
  mesh = new Mesh(room as any, { certificate: {} as any, fp: 'aa', placeholders });
  room.roster = { members: [{ id: 'a' }, { id: 'b', kind: 'human', fp: colonHex(await sha256(certificate)), ...more }] };
  room.tell('roster', room.roster);
  link = Peer.made[0]!;
}

const checked = () => vi.waitFor(() => expect(mesh.linked).toEqual(['b']));

/** The same, checked, with all three lanes published. */
async function publishing(b: object, placeholders = flowing) {
  await begin(placeholders);
  room.caps(b);
  link.channel.open();
  await checked();
  for (const lane of ['audio', 'camera', 'screen'] as const) await mesh.publish(lane, real[lane]);
}

beforeEach(() => {
  Peer.made = [];
  vi.stubGlobal('RTCPeerConnection', Peer);
});
afterEach(() => {
  mesh.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('lanes', () => {
  it('carry the real tracks to whoever may perceive them', async () => {
    await publishing(full);
    expect(link.sends).toEqual([real.audio, real.camera, real.screen]);
  });

  it('carry a placeholder that flows to whoever may not, each lane for itself', async () => {
    await publishing(listens);
    expect(link.sends).toEqual([silence, black, black]);
    room.caps({ ...listens, perceive: ['hear-audio'] });
    expect(link.sends).toEqual([real.audio, black, black]);
    room.caps({ ...listens, perceive: ['see-screen'] });
    expect(link.sends).toEqual([silence, real.camera, real.screen]);
  });

  it('carry nothing where no placeholder can be made: nothing real is sent', async () => {
    await publishing(listens, none);
    expect(link.sends).toEqual([null, null, null]);
    room.caps(full);
    expect(link.sends).toEqual([real.audio, real.camera, real.screen]);
    room.caps(listens);
    expect(link.sends).toEqual([null, null, null]);
  });

  it('carry nothing before the link is checked and the room has said who may perceive it', async () => {
    await begin();
    room.grants = { a: full };
    await mesh.publish('screen', real.screen);
    link.channel.open();
    await new Promise((done) => setTimeout(done));
    expect([mesh.linked, link.sends]).toEqual([[], [null, null, null]]);
    room.caps(full);
    await checked();
    expect(link.sends[2]).toBe(real.screen);
  });

  for (const [name, placeholders, instead] of [['placeholders', flowing, [silence, black, black]], ['nothing', none, [null, null, null]]] as const) {
    it(`carry ${name} once the hub has been away for 12 s, until it is back`, async () => {
      await publishing(full, placeholders);
      vi.useFakeTimers();
      room.tell('state', 'broken');
      vi.advanceTimersByTime(8000);
      room.tell('state', 'door');
      room.tell('state', 'broken');
      vi.advanceTimersByTime(3999);
      expect(link.sends[2]).toBe(real.screen);
      vi.advanceTimersByTime(1);
      expect(link.sends).toEqual(instead);
      room.tell('state', 'in');
      expect(link.sends).toEqual([real.audio, real.camera, real.screen]);
    });
  }

  it('end with the right to speak', async () => {
    await publishing(full);
    room.caps(full, listens);
    expect([link.sends, link.lanes.map((t) => t.direction)]).toEqual([[null, null, null], ['recvonly', 'recvonly', 'recvonly']]);
  });

  it('of somebody who may not speak are not shown', async () => {
    await begin();
    const shown: any[] = [];
    mesh.on('stream', (s) => shown.push(s.lane));
    room.caps(listens);
    link.channel.open();
    await checked();
    link.dispatchEvent(Object.assign(new Event('track'), { track: real.audio, transceiver: link.lanes[0] }));
    expect(shown).toEqual([]);
    room.caps(full);
    room.caps(listens);
    expect(shown).toEqual(['audio', undefined]);
  });
});

describe('a link', () => {
  const server = (url: string) => [{ urls: [url], username: 'u', credential: 'c' }];
  const meets = async (ice: any[]) => {
    await begin();
    mesh.close();
    Peer.made = [];
    const { roster } = room;
    room = Object.assign(new Room(), { ice, roster });
    mesh = new Mesh(room as any, { certificate: {} as any, fp: 'aa', placeholders: flowing });
    return Peer.made[0]!.conf.iceServers;
  };

  it('uses the servers that the hub gave for ways through NAT', async () => {
    expect(await meets(server('turn:192.0.2.1:3478'))).toEqual(server('turn:192.0.2.1:3478'));
  });

  it('stands without a server that the browser does not take', async () => {
    expect(await meets(server('nonsense:'))).toBeUndefined();
  });
});

describe('a link that is not checked yet', () => {
  const texts = () => link.channel.sent.map((c) => c.data);

  it('holds what is sent and passes it on in order', async () => {
    await begin();
    room.grants = { a: full, b: full };
    for (let i = 0; i < 3; i++) await mesh.broadcast(i);
    await mesh.sendTo('b', 3);
    expect(link.channel.sent).toEqual([]);
    link.channel.open();
    await checked();
    await mesh.broadcast(4);
    expect(texts()).toEqual([0, 1, 2, 3, 4]);
  });

  it('holds 256 messages or a mebibyte', async () => {
    await begin();
    room.grants = { a: full, b: full };
    for (let i = 0; i < 256; i++) await mesh.sendTo('b', i);
    await expect(mesh.sendTo('b', 256)).rejects.toMatchObject({ code: 'limit.rate' });
    await mesh.broadcast(257); // for all: one full buffer is no reason to fail
    link.channel.open();
    await checked();
    expect(texts()).toEqual([...Array(256).keys()]);
  });

  it('holds a mebibyte', async () => {
    await begin();
    room.grants = { a: full, b: full };
    await mesh.sendTo('b', 'x'.repeat(1 << 19));
    await expect(mesh.sendTo('b', 'x'.repeat(1 << 19))).rejects.toMatchObject({ code: 'limit.rate' });
    await mesh.sendTo('b', 'small');
    link.channel.open();
    await checked();
    expect(texts().map((t) => t.length)).toEqual([1 << 19, 5]);
  });

  it('passes nothing on that may not be perceived any more', async () => {
    await begin();
    room.grants = { a: full, b: full };
    await mesh.broadcast('for all');
    await mesh.sendTo('b', 'for one');
    room.caps({ perceive: ['read-chat'], act: [] });
    link.channel.open();
    await checked();
    expect(texts()).toEqual(['for all']);
  });

  it('drops it all when its certificate is another, or its key is not proven', async () => {
    for (const more of [{ fp: 'bb' }, { kind: 'agent', key: { x: '', y: '' } }]) {
      Peer.made = [];
      await begin(flowing, more);
      room.grants = { a: full, b: full };
      await mesh.broadcast('secret');
      link.channel.open();
      link.channel.hear({ k: 'app', data: 'let me in' });
      await vi.waitFor(() => expect(link.closed).toBe(true));
      expect(link.channel.sent).toEqual([]);
      mesh.close();
    }
  });

  it('hears nothing until it is', async () => {
    await begin();
    const heard: unknown[] = [];
    mesh.on('content', ({ c }) => heard.push(c.data));
    link.channel.open();
    link.channel.hear({ k: 'app', data: 1 });
    await new Promise((done) => setTimeout(done));
    expect(heard).toEqual([]);
    room.caps(full);
    await checked();
    expect(heard).toEqual([1]);
  });
});

describe('content over links', () => {
  it('is dropped and reported where its sender has no right to it', async () => {
    await begin();
    const heard: unknown[] = [];
    mesh.on('content', ({ c }) => heard.push(c));
    room.caps({ perceive: [], act: ['act'] });
    link.channel.open();
    await checked();
    const act = { k: 'app', data: { __kib_agent: 'act', action: 1 } };
    for (const c of [{ k: 'chat', text: 'x' }, act, { k: 'app', data: 1 }]) link.channel.hear(c);
    room.caps(full);
    link.channel.hear({ k: 'app', data: { __kib_agent: 'view', view: 1 } });
    expect(heard).toEqual([act]);
    expect(room.reported).toEqual(['b chat', 'b app', 'b view']);
  });

  it('goes by the relay where the room does not want it on links', async () => {
    await begin();
    room.hello = { mesh: { media: true, data: false } };
    const heard: unknown[] = [];
    mesh.on('content', ({ c }) => heard.push(c));
    room.caps(full);
    link.channel.open();
    await checked();
    expect(await mesh.broadcast(1)).toEqual({ seq: 7 });
    link.channel.hear({ k: 'app', data: 'past the hub' });
    expect([room.relayed, link.channel.sent, heard, room.reported]).toEqual([[{ k: 'app', data: 1 }], [], [], []]);
  });

  it('is tried again over a new link when one has failed', async () => {
    await begin();
    room.caps(full);
    vi.useFakeTimers();
    link.connectionState = 'failed';
    link.dispatchEvent(new Event('connectionstatechange'));
    room.tell('roster', room.roster);
    expect(Peer.made.length).toBe(1);
    vi.advanceTimersByTime(1000);
    expect(Peer.made.length).toBe(2);
    for (let i = 0; i < 20; i++) {
      const last = Peer.made.at(-1)!;
      if (!last.closed) {
        last.connectionState = 'failed';
        last.dispatchEvent(new Event('connectionstatechange'));
      }
      vi.advanceTimersByTime(10_000);
    }
    expect(Peer.made.length).toBe(6); // and then no more
  });
});

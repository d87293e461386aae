import { describe, expect, it } from 'vitest';
import text from '../../../client/roomagent/testdata/cases.json?raw';
import { cooldown, createAgent, createAgentFromBridge, type Controller, type Grant, type Participant } from './agent';

const { cases } = JSON.parse(text);

class Fake implements Controller {
  sent: { data: unknown; to?: string }[] = [];
  meta: unknown;
  left = 0;
  messages = new Set<(data: unknown, from: string) => void>();
  changes = new Set<(list: Participant[]) => void>();
  getGrant?: () => Grant;
  constructor(public list: Participant[], grant?: Grant) {
    if (grant) this.getGrant = () => grant;
  }
  broadcast(data: unknown) {
    this.sent.push({ data });
  }
  sendTo(to: string, data: unknown) {
    this.sent.push({ data, to });
  }
  onMessage(fn: (data: unknown, from: string) => void) {
    this.messages.add(fn);
    return () => void this.messages.delete(fn);
  }
  getParticipants() {
    return this.list;
  }
  on(_event: 'participants', fn: (list: Participant[]) => void) {
    this.changes.add(fn);
    return () => void this.changes.delete(fn);
  }
  setMeta(meta: unknown) {
    this.meta = meta;
  }
  leave() {
    this.left++;
  }
  hear(data: unknown, from: string) {
    for (const fn of [...this.messages]) fn(data, from);
  }
}

describe('an agent', () => {
  for (const c of cases) {
    it(c.name, () => {
      const fake = new Fake(c.roster ?? [], c.grant);
      const agent = createAgent(fake, c.options ?? {});
      const got = { views: [] as unknown[], chats: [] as unknown[], data: [] as unknown[], rosters: [] as string[][] };
      agent.onView((v) => {
        expect(agent.getView()).toEqual(v);
        got.views.push(v);
      });
      agent.onChat((m) => got.chats.push(m));
      agent.onData((d) => got.data.push(d));
      agent.onRoster((list) => got.rosters.push(list.map((p) => p.id)));
      for (const s of c.steps ?? []) {
        const run = () => {
          if ('hear' in s) fake.hear(s.hear, s.from);
          else if ('roster' in s) {
            fake.list = s.roster;
            for (const fn of fake.changes) fn(s.roster);
          } else if ('say' in s) agent.say(s.say);
          else if ('act' in s) agent.act(s.act, s.to);
          else if ('send' in s) agent.send(s.send, s.to);
          else if (s.leave) agent.leave();
        };
        if (s.fails) expect(run).toThrow(s.fails);
        else run();
      }
      if ('meta' in c) expect(fake.meta).toEqual(c.meta);
      if ('sent' in c) expect(fake.sent).toEqual(c.sent);
      if ('view' in c) expect(agent.getView()).toEqual(c.view);
      if ('canAct' in c) expect(agent.canAct).toBe(c.canAct);
      if ('left' in c) expect(fake.left).toBe(c.left);
      for (const k of ['views', 'chats', 'data', 'rosters'] as const) if (k in c) expect(got[k]).toEqual(c[k]);
    });
  }

  it('may be unsubscribed from inside a callback, and one that throws stops no other', () => {
    const fake = new Fake([]);
    const agent = createAgent(fake);
    const seen: string[] = [];
    const off = agent.onData(() => {
      seen.push('once');
      off();
      throw new Error('mine');
    });
    agent.onData(() => seen.push('always'));
    const quiet = console.error;
    console.error = () => {};
    fake.hear(1, 'p');
    fake.hear(2, 'p');
    console.error = quiet;
    expect(seen).toEqual(['once', 'always', 'always']);
  });

  it('without schemas lists none and unsubscribes harmlessly', () => {
    const agent = createAgent(new Fake([]));
    expect(agent.getSchemas()).toEqual([]);
    agent.onSchema(() => {})();
  });

  it('is told what the hub refused', async () => {
    const fake = new Fake([]);
    fake.broadcast = () => Promise.reject(Object.assign(new Error('x'), { code: 'act.denied', reason: 'grant lacks send-chat' })) as never;
    const agent = createAgent(fake);
    const denied = new Promise((done) => agent.onDenied(done));
    agent.say('hi');
    expect(await denied).toEqual({ code: 'act.denied', reason: 'grant lacks send-chat' });
  });
});

describe('a bridge', () => {
  it('sees and talks, and only talking is guarded', () => {
    const said: string[] = [];
    const bridge = { onView: () => () => {}, getView: () => 7, onChat: () => () => {}, say: (t: string) => said.push(t) };
    createAgentFromBridge(bridge).say('hi');
    const quiet = createAgentFromBridge(bridge, { readOnly: true });
    expect(() => quiet.say('no')).toThrow('read-only');
    expect(quiet.getView()).toBe(7);
    expect([quiet.canAct, said]).toEqual([false, ['hi']]);
    expect(Object.keys(quiet).sort()).toEqual(['canAct', 'getView', 'onChat', 'onView', 'say']);
  });

  it('is called on itself: its methods need their own this', () => {
    class App {
      #view = 7;
      said = '';
      onView() {
        return () => void this.#view;
      }
      onChat() {
        return () => {};
      }
      getView() {
        return this.#view;
      }
      say(text: string) {
        this.said = text;
      }
    }
    const app = new App();
    const { getView, say, onView } = createAgentFromBridge(app);
    onView(() => {})();
    say('hi');
    expect([getView(), app.said]).toEqual([7, 'hi']);
  });
});

describe('an act', () => {
  it('may go to the app alone', () => {
    const fake = new Fake([]);
    createAgent(fake).act({ play: '7S' }, 'app');
    expect(fake.sent).toEqual([{ data: { __kib_agent: 'act', action: { play: '7S' } }, to: 'app' }]);
  });
});

describe('cooldown', () => {
  it('is ready when never stamped and from the last moment on, and never stamps itself', () => {
    const gate = cooldown(6000);
    expect(gate.ready(5)).toBe(true);
    gate.stamp(1000);
    expect([gate.ready(6999), gate.ready(7000), gate.ready(7000)]).toEqual([false, true, true]);
  });
});

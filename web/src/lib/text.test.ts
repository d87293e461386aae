import { describe, expect, it } from 'vitest';
import { changes, fieldsOf } from '../pages/agents/definition';
import { below } from './below';
import { ago, countdown, duration, money, short, span } from './format';
import { allows } from './session.svelte';
import vectors from './testdata/visible.json?raw';
import { exact, hides, members, visible, visibleLine } from './visible';

interface Shown { hidden: [string, string][]; cases: { why: string; text: string; shown: string; line: string }[] }
const shown: Shown = JSON.parse(vectors); // the hub is held to the same

describe('what is hidden becomes visible', () => {
  for (const c of shown.cases) {
    it(c.why, () => {
      expect(visible(c.text)).toBe(c.shown);
      expect(visibleLine(c.text)).toBe(c.line);
    });
  }

  it('hides exactly what the hub hides', () => {
    const want = new Set<number>();
    for (const [first, last] of shown.hidden) for (let c = parseInt(first, 16); c <= parseInt(last, 16); c++) want.add(c);
    const differs: string[] = [];
    for (let c = 0; c <= 0x10ffff; c++) if (hides(String.fromCodePoint(c)) !== want.has(c)) differs.push(c.toString(16));
    expect(differs).toEqual([]);
  });

  it('shows arguments one by one, exactly', () => {
    expect(members({ command: 'ls -l', n: 1, deep: { a: [true] } })).toEqual([['command', 'ls -l'], ['n', '1'], ['deep', '{\n  "a": [\n    true\n  ]\n}']]);
    expect(members('{"a":"b"}')).toEqual([['a', 'b']]);
    expect(members('not json')).toEqual([['', 'not json']]);
    expect(members([1])).toEqual([['', '[\n  1\n]']]);
    expect(members(null)).toEqual([]);
    expect(exact(undefined)).toBe('undefined');
  });
});

describe('figures', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  it.each([
    [0, '0:00'], [-5, '0:00'], [1, '0:01'], [61_000, '1:01'], [3_600_000, '1:00:00'], [90_000_000, '1 d 1 h'],
  ])('counts down %d', (ms, want) => expect(countdown(ms)).toBe(want));
  it.each([
    ['2026-03-01T11:59:50Z', 'just now'], ['2026-03-01T11:55:00Z', '5 min ago'], ['2026-03-01T15:00:00Z', 'in 3 h'],
    ['2026-02-27T12:00:00Z', '2 days ago'], [undefined, 'never'], ['nonsense', 'never'],
  ])('says how long ago %s was', (at, want) => expect(ago(at, now)).toBe(want));
  it('writes durations, money and counts', () => {
    expect([duration(0.4), duration(42), duration(1500), duration(undefined), span(86_400_000)]).toEqual(['<1 ms', '42 ms', '1.5 s', '', '1 day']);
    expect([money(0), money(0.0012), money(1.5), money(undefined)]).toEqual(['$0.00', '$0.0012', '$1.50', '$0.00']);
    expect([short(999), short(1234), short(45_600), short(2_500_000)]).toEqual(['999', '1.2k', '46k', '2.5M']);
  });
});

it.each([
  ['/', '/', []], ['/', '/inbox', null], ['/agents', '/agents', []], ['/agents', '/agents/parley/edit', ['parley', 'edit']],
  ['/agents', '/agentsx', null], ['/r', '/r/a%20b', ['a b']], ['/r', '/r/%zz', ['%zz']],
])('below %s of %s', (prefix, path, want) => expect(below(prefix, path)).toEqual(want));

it('a scope is covered by name or by admin, never by its family', () => {
  expect(allows(['talk'], 'talk')).toBe(true);
  expect(allows(['talk'], 'talk:admin')).toBe(false);
  expect(allows(['admin'], 'audit:read')).toBe(true);
  expect(allows([], 'talk')).toBe(false);
});

it('an edited agent sends only what was changed', () => {
  const before = fieldsOf({ name: 'a', description: 'd', tools: ['shell', 'recall'], thinking: 'off', max_iterations: 16 });
  expect(changes(before, before)).toEqual({});
  expect(changes(before, { ...before, tools: 'shell,  files', thinking: 'high', prompt: 'p' })).toEqual({ tools: ['shell', 'files'], thinking: 'high', prompt: 'p' });
  expect(changes(before, { ...before, tools: '' })).toEqual({ tools: null });
  expect(changes(before, { ...before, description: '', max_iterations: null })).toEqual({ description: null, max_iterations: null });
});

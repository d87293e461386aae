import { describe, expect, it } from 'vitest';
import { parse, reader, safe, segments, type Block, type Inline } from './markdown';

function words(nodes: Inline[]): string {
  return nodes.map((n) => ('text' in n ? n.text : 'c' in n ? words(n.c) : '\n')).join('');
}

function all(value: unknown, found: Inline[] = []): Inline[] {
  if (Array.isArray(value)) value.forEach((v) => all(v, found));
  else if (value && typeof value === 'object') {
    if ('t' in value) found.push(value as Inline);
    Object.values(value).forEach((v) => all(v, found));
  }
  return found;
}

describe('markdown', () => {
  it('reads paragraphs, emphasis and code', () => {
    expect(parse('Hello **bold *both*** and `a*b` ~~gone~~ snake_case_name _it_')).toEqual([
      {
        t: 'p',
        c: [
          { t: 'text', text: 'Hello ' },
          { t: 'b', c: [{ t: 'text', text: 'bold ' }, { t: 'i', c: [{ t: 'text', text: 'both' }] }] },
          { t: 'text', text: ' and ' },
          { t: 'code', text: 'a*b' },
          { t: 'text', text: ' ' },
          { t: 's', c: [{ t: 'text', text: 'gone' }] },
          { t: 'text', text: ' snake_case_name ' },
          { t: 'i', c: [{ t: 'text', text: 'it' }] },
        ],
      },
    ]);
  });

  it.each([
    ['# One', [{ t: 'h', n: 1, c: [{ t: 'text', text: 'One' }] }]],
    ['###### Six ##', [{ t: 'h', n: 6, c: [{ t: 'text', text: 'Six' }] }]],
    ['#hash', [{ t: 'p', c: [{ t: 'text', text: '#hash' }] }]],
    ['---', [{ t: 'hr' }]],
    ['```go\nfunc main() {}\n\n```', [{ t: 'code', lang: 'go', text: 'func main() {}\n' }]],
    ['```\nnot closed **yet**', [{ t: 'code', lang: '', text: 'not closed **yet**' }]],
    ['a\\*b', [{ t: 'p', c: [{ t: 'text', text: 'a*b' }] }]],
    ['one  \ntwo', [{ t: 'p', c: [{ t: 'text', text: 'one' }, { t: 'br' }, { t: 'text', text: 'two' }] }]],
    ['2 * 3 * 4', [{ t: 'p', c: [{ t: 'text', text: '2 * 3 * 4' }] }]],
    ['', []],
  ])('reads %j', (text, want) => {
    expect(parse(text)).toEqual(want);
  });

  it('reads nested and loose lists', () => {
    const [list] = parse('1. one\n   - deep\n   - deeper\n\n2. two\n\n   still two\n3. three') as [Extract<Block, { t: 'list' }>];
    expect(list.ordered).toBe(true);
    expect(list.items).toHaveLength(3);
    expect(list.items[0]).toMatchObject([{ t: 'p' }, { t: 'list', ordered: false, items: [[{ t: 'p' }], [{ t: 'p' }]] }]);
    expect(list.items[1]).toMatchObject([{ t: 'p' }, { t: 'p' }]);
  });

  it('keeps a fence inside a list together', () => {
    const [list] = parse('- run:\n  ```sh\n  make\n\n  make test\n  ```\n- done') as [Extract<Block, { t: 'list' }>];
    expect(list.items).toHaveLength(2);
    expect(list.items[0]![1]).toEqual({ t: 'code', lang: 'sh', text: 'make\n\nmake test' });
  });

  it('reads tables and quotes', () => {
    expect(parse('| a | b |\n|:--|--:|\n| 1 | x \\| y |\n\n> said\n> twice')).toMatchObject([
      { t: 'table', align: ['left', 'right'], rows: [[[{ text: '1' }], [{ text: 'x | y' }]]] },
      { t: 'quote', c: [{ t: 'p' }] },
    ]);
  });

  it('reads links', () => {
    const nodes = all(parse('[a](https://a.example/x_(y)) <https://b.example> https://c.example/p?q=1. ![pic](https://d.example/i.png)'));
    expect(nodes.filter((n) => n.t === 'a').map((n) => (n as { href: string }).href)).toEqual([
      'https://a.example/x_(y)',
      'https://b.example/',
      'https://c.example/p?q=1',
      'https://d.example/i.png',
    ]);
  });

  // Whatever the input, the tree has only our kinds of node and only harmless addresses.
  const attacks = [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](java\tscript:alert(1))',
    '[x]( javascript:alert(1))',
    '[x](data:text/html,<script>alert(1)</script>)',
    '[x](vbscript:msgbox(1))',
    '[x](//evil.example)',
    '[x](/api/session)',
    '<javascript:alert(1)>',
    '![x](javascript:alert(1))',
    '[![x](https://a.example/i.png)](javascript:alert(1))',
    '[a](https://a.example "title\\" onmouseover=alert(1)")',
    '```"><script>alert(1)</script>\ncode\n```',
    '<a href="javascript:alert(1)">x</a>',
    '&lt;script&gt;',
    '[x](&#106;avascript:alert(1))',
    '<svg/onload=alert(1)>',
  ];
  it.each(attacks)('stays text: %s', (text) => {
    for (const node of all(parse(text))) {
      expect(['text', 'code', 'b', 'i', 's', 'a', 'br', 'p', 'h', 'quote', 'list', 'table', 'hr']).toContain(node.t);
      if (node.t === 'a') expect(node.href).toMatch(/^(https?:\/\/|mailto:)/);
    }
  });

  it('keeps HTML as the characters it is', () => {
    expect(words((parse('<b>x</b> & <i>')[0] as { c: Inline[] }).c)).toBe('<b>x</b> & <i>');
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '/relative', 'blob:https://x/y', ''])('refuses the address %j', (address) => {
    expect(safe(address)).toBe('');
  });

  it.each(['[', '*', '**', '_', '`', '~~', '![', '<', '> ', '- ', '[](', '`a', '**a ', '|-'])('ends soon on 100,000 times %j', (piece) => {
    const text = piece.repeat(100_000);
    parse(text);
    parse(text + '\n' + text);
  });

  it('loses no word', () => {
    const text = 'A [broken link( and **open *marks `and ~~ <tag [x] (y) _z';
    expect(words((parse(text)[0] as { c: Inline[] }).c)).toBe(text);
  });

  it('keeps the blocks of unchanged text while more streams in', () => {
    const read = reader();
    const before = read('First paragraph.\n\nSecond **par');
    const after = read('First paragraph.\n\nSecond **paragraph** grows.\n\n```\nco');
    expect(after[0]).toBe(before[0]);
    expect(after).toHaveLength(3);
  });

  it('cuts at blank lines but not inside fences', () => {
    expect(segments('a\n\nb\n```\nx\n\ny\n```\n\n- i\n\n- j\n\nend')).toEqual(['a', 'b', '```\nx\n\ny\n```', '- i\n\n- j', 'end']);
  });
});

// Markdown as a tree of plain text. There is no HTML in it and none is made
// from it: the tree is rendered as elements and text nodes, so nothing an
// agent writes can become markup, a script or a request. Pictures are shown
// as links, links only lead to the web and to mail.
//
// It reads the part of CommonMark that people and models write. While a reply
// streams in, `reader()` parses only what changed.

export type Inline =
  | { t: 'text'; text: string }
  | { t: 'code'; text: string }
  | { t: 'b' | 'i' | 's'; c: Inline[] }
  | { t: 'a'; href: string; c: Inline[] }
  | { t: 'br' };

export type Align = 'left' | 'center' | 'right' | '';

export type Block =
  | { t: 'p'; c: Inline[] }
  | { t: 'h'; n: number; c: Inline[] }
  | { t: 'code'; lang: string; text: string }
  | { t: 'quote'; c: Block[] }
  | { t: 'list'; ordered: boolean; start: number; items: Block[][] }
  | { t: 'table'; head: Inline[][]; align: Align[]; rows: Inline[][][] }
  | { t: 'hr' };

/** Deeper nesting than this is shown as text; nobody reads it, and a parser must end. */
const DEEPEST = 8;

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|)$/;
const quote = /^ {0,3}> ?(.*)$/;

/** Parses a whole text. */
export function parse(text: string): Block[] {
  return segments(text).map((s) => blocks(s.split('\n'), 0)).flat();
}

/** Returns a parser that remembers: a segment whose text is unchanged keeps its blocks. */
export function reader(): (text: string) => Block[][] {
  let known = new Map<string, Block[]>();
  return (text) => {
    const next = new Map<string, Block[]>();
    const result = segments(text).map((s) => {
      const made = next.get(s) ?? known.get(s) ?? blocks(s.split('\n'), 0);
      next.set(s, made);
      return made;
    });
    known = next;
    return result;
  };
}

/** Cuts a text at blank lines, except inside fences and lists. */
export function segments(text: string): string[] {
  const result: string[] = [];
  let open = '';
  let lines: string[] = [];
  const flush = () => {
    while (lines.length && !lines.at(-1)!.trim()) lines.pop();
    if (lines.length) result.push(lines.join('\n'));
    lines = [];
  };
  let blank = false;
  for (const line of text.replace(/\r\n?/g, '\n').split('\n')) {
    if (open) {
      lines.push(line);
      if (closes(line, open)) open = '';
      continue;
    }
    if (!line.trim()) {
      blank = true;
      lines.push(line);
      continue;
    }
    const inList = lines.length > 0 && item.test(lines[0]!);
    if (blank && !(inList && (/^[ \t]{2,}/.test(line) || item.test(line)))) flush();
    blank = false;
    const start = fence.exec(line);
    if (start) {
      if (!inList) flush();
      open = start[1]!;
    }
    lines.push(line);
  }
  flush();
  return result;
}

function closes(line: string, open: string): boolean {
  const text = line.trim();
  return text.length >= open.length && text === open[0]!.repeat(text.length);
}

function blocks(lines: string[], depth: number): Block[] {
  const out: Block[] = [];
  let paragraph: string[] = [];
  const end = () => {
    if (paragraph.length) out.push({ t: 'p', c: inline(paragraph.join('\n')) });
    paragraph = [];
  };
  for (let i = 0; i < lines.length; ) {
    const line = lines[i]!;
    if (!line.trim()) {
      end();
      i++;
      continue;
    }
    const taken = special(lines, i, depth, paragraph.length > 0);
    if (taken) {
      end();
      out.push(taken.block);
      i = taken.next;
    } else {
      paragraph.push(line.trim() + (/ {2,}$|\\$/.test(line) ? '  ' : ''));
      i++;
    }
  }
  end();
  return out;
}

interface Taken {
  block: Block;
  next: number;
}

function special(lines: string[], i: number, depth: number, inParagraph: boolean): Taken | null {
  const line = lines[i]!;
  const code = fence.exec(line);
  if (code) return takeCode(lines, i, code[1]!, code[2]!.trim());
  const h = heading.exec(line);
  if (h) return { block: { t: 'h', n: h[1]!.length, c: inline(h[2] ?? '') }, next: i + 1 };
  if (rule.test(line)) return { block: { t: 'hr' }, next: i + 1 };
  if (depth < DEEPEST) {
    if (quote.test(line)) return takeQuote(lines, i, depth);
    const m = item.exec(line);
    // A number in the middle of a paragraph starts a list only when it is 1.
    if (m && !(inParagraph && /^\d/.test(m[2]!) && parseInt(m[2]!, 10) !== 1)) return takeList(lines, i, depth);
  }
  return takeTable(lines, i);
}

function takeCode(lines: string[], i: number, open: string, lang: string): Taken {
  const body: string[] = [];
  let n = i + 1;
  while (n < lines.length && !closes(lines[n]!, open)) body.push(lines[n++]!);
  return { block: { t: 'code', lang, text: body.join('\n') }, next: n + 1 };
}

function takeQuote(lines: string[], i: number, depth: number): Taken {
  const body: string[] = [];
  let n = i;
  for (; n < lines.length; n++) {
    const m = quote.exec(lines[n]!);
    if (!m) break;
    body.push(m[1]!);
  }
  return { block: { t: 'quote', c: blocks(body, depth + 1) }, next: n };
}

function takeList(lines: string[], i: number, depth: number): Taken {
  const first = item.exec(lines[i]!)!;
  const ordered = /^\d/.test(first[2]!);
  const kind = first[2]!.at(-1);
  const items: string[][] = [];
  let indent = 0;
  let n = i;
  for (; n < lines.length; n++) {
    const line = lines[n]!;
    const m = item.exec(line);
    const depthOfLine = line.length - line.trimStart().length;
    if (m && m[2]!.at(-1) === kind && (items.length === 0 || depthOfLine < indent)) {
      if (rule.test(line) && items.length) break;
      items.push([m[3] ?? '']);
      indent = m[1]!.length + m[2]!.length + 1;
    } else if (!line.trim() || depthOfLine >= Math.min(indent, 2)) {
      items.at(-1)!.push(line.slice(Math.min(depthOfLine, indent)));
    } else if (lines[n - 1]!.trim() && !m && !fence.test(line) && !heading.test(line) && !quote.test(line) && !rule.test(line)) {
      items.at(-1)!.push(line); // a paragraph that goes on at the margin
    } else break;
  }
  return {
    block: { t: 'list', ordered, start: ordered ? parseInt(first[2]!, 10) : 1, items: items.map((it) => blocks(it, depth + 1)) },
    next: n,
  };
}

const divider = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

function takeTable(lines: string[], i: number): Taken | null {
  const line = lines[i]!;
  const under = lines[i + 1];
  if (!line.includes('|') || under === undefined || !under.includes('-') || !divider.test(under)) return null;
  const head = cells(line);
  const align = cells(under).map((c): Align => (c.startsWith(':') ? (c.endsWith(':') ? 'center' : 'left') : c.endsWith(':') ? 'right' : ''));
  if (head.length !== align.length) return null;
  const rows: Inline[][][] = [];
  let n = i + 2;
  for (; n < lines.length && lines[n]!.trim() && lines[n]!.includes('|'); n++) {
    const row = cells(lines[n]!);
    rows.push(head.map((_, k) => inline(row[k] ?? '')));
  }
  return { block: { t: 'table', head: head.map((c) => inline(c)), align, rows }, next: n };
}

function cells(line: string): string[] {
  const text = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return text.split(/(?<!\\)\|/).map((c) => c.trim().replaceAll('\\|', '|'));
}

/** Parses the inside of a paragraph. */
export function inline(text: string, depth = 0): Inline[] {
  return new Scanner(text, depth).run();
}

const special1 = /[\\`*_~[!<\n]|https?:\/\//g;

class Scanner {
  #out: Inline[] = [];
  #plain = '';
  #at = 0;
  // Markers that have no end further on: searching for it again for every
  // opening one would take quadratic time.
  #absent = new Set<string>();

  constructor(
    readonly text: string,
    readonly depth: number,
  ) {}

  run(): Inline[] {
    const { text } = this;
    while (this.#at < text.length) {
      special1.lastIndex = this.#at;
      const next = special1.exec(text)?.index ?? text.length;
      this.#plain += text.slice(this.#at, next);
      this.#at = next;
      if (next < text.length && !this.#step()) {
        this.#plain += text[this.#at]!;
        this.#at++;
      }
    }
    this.#flush();
    return this.#out;
  }

  #step(): boolean {
    switch (this.text[this.#at]) {
      case '\\': return this.#escape();
      case '`': return this.#code();
      case '*': return this.#span('**', 'b') || this.#span('*', 'i');
      case '_': return this.#word() && (this.#span('__', 'b') || this.#span('_', 'i'));
      case '~': return this.#span('~~', 's');
      case '[': return this.#link(this.#at);
      case '!': return this.text[this.#at + 1] === '[' && this.#link(this.#at + 1);
      case '<': return this.#angle();
      case '\n': return this.#newline();
      default: return this.#bare();
    }
  }

  #flush(): void {
    if (this.#plain) this.#out.push({ t: 'text', text: this.#plain });
    this.#plain = '';
  }

  #add(node: Inline, next: number): true {
    this.#flush();
    this.#out.push(node);
    this.#at = next;
    return true;
  }

  #find(marker: string, from: number): number {
    if (this.#absent.has(marker)) return -1;
    const found = this.text.indexOf(marker, from);
    if (found < 0) this.#absent.add(marker);
    return found;
  }

  #escape(): boolean {
    const c = this.text[this.#at + 1];
    if (!c || !/[!-/:-@[-`{-~]/.test(c)) return false;
    this.#plain += c;
    this.#at += 2;
    return true;
  }

  #newline(): boolean {
    const hard = this.#plain.endsWith('  ');
    this.#plain = this.#plain.trimEnd();
    if (hard) return this.#add({ t: 'br' }, this.#at + 1);
    this.#plain += ' ';
    this.#at++;
    return true;
  }

  #code(): boolean {
    const run = /^`+/.exec(this.text.slice(this.#at, this.#at + 64))![0];
    let end = this.#find(run, this.#at + run.length);
    while (end >= 0 && this.text[end + run.length] === '`') {
      while (this.text[end] === '`') end++;
      end = this.text.indexOf(run, end);
    }
    if (end < 0) {
      this.#plain += run;
      this.#at += run.length;
      return true;
    }
    let code = this.text.slice(this.#at + run.length, end).replaceAll('\n', ' ');
    if (code.startsWith(' ') && code.endsWith(' ') && code.trim()) code = code.slice(1, -1);
    return this.#add({ t: 'code', text: code }, end + run.length);
  }

  // An underscore inside a word is part of the word.
  #word(): boolean {
    return !/[\p{L}\p{N}]/u.test(this.text[this.#at - 1] ?? ' ');
  }

  #span(marker: string, t: 'b' | 'i' | 's'): boolean {
    const { text } = this;
    const from = this.#at + marker.length;
    if (this.depth >= DEEPEST || !text.startsWith(marker, this.#at) || /\s|^$/.test(text[from] ?? '')) return false;
    let end = this.#find(marker, from + 1);
    // The end stands after a letter, and a single marker is not half of a double one.
    for (let tries = 0; end > 0 && tries < 8; tries++) {
      if (marker.length === 2 && text[end + 2] === marker[0] && text[end + 3] !== marker[0]) end++; // of three, the last two
      const wrong =
        /\s/.test(text[end - 1]!) ||
        (marker.length === 1 && (text[end + 1] === marker || text[end - 1] === marker)) ||
        (marker[0] === '_' && /[\p{L}\p{N}]/u.test(text[end + marker.length] ?? ' '));
      if (!wrong) return this.#add({ t, c: inline(text.slice(from, end), this.depth + 1) }, end + marker.length);
      end = text.indexOf(marker, end + (text[end + 1] === marker ? 2 : 1));
    }
    return false;
  }

  #link(bracket: number): boolean {
    if (this.depth >= DEEPEST) return false;
    const close = this.#find('](', bracket + 1);
    if (close < 0 || close - bracket > 2000) return false;
    const label = this.text.slice(bracket + 1, close);
    if (label.includes('\n\n') || unbalanced(label)) return false;
    const end = this.#find(')', close + 2);
    if (end < 0 || end - close > 1000) return false;
    const m = /^ ?<?([^\s<>]*?)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))? ?\)$/.exec(this.text.slice(close + 2, end + 1));
    if (!m) return false;
    let address = m[1]!;
    let next = close + 2 + m[0].length;
    // An address may have brackets of its own, if they match.
    while (count(address, '(') > count(address, ')') && this.text[next - 1] === ')' && /^[^\s)]*\)/.test(this.text.slice(next, next + 200))) {
      const more = /^[^\s)]*\)/.exec(this.text.slice(next, next + 200))![0];
      address += ')' + more.slice(0, -1);
      next += more.length;
    }
    const picture = bracket > this.#at;
    const inside = picture ? [{ t: 'text', text: label || 'picture' } as Inline] : inline(label, this.depth + 1).map(unlink);
    const href = safe(address);
    if (!href) {
      this.#flush();
      this.#out.push(...inside);
      this.#at = next;
      return true;
    }
    return this.#add({ t: 'a', href, c: inside }, next);
  }

  #angle(): boolean {
    const m = /^<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/i.exec(this.text.slice(this.#at, this.#at + 2100));
    const href = m && safe(m[1]!);
    if (!m || !href) return false;
    return this.#add({ t: 'a', href, c: [{ t: 'text', text: m[1]! }] }, this.#at + m[0].length);
  }

  #bare(): boolean {
    if (/[\p{L}\p{N}]/u.test(this.text[this.#at - 1] ?? ' ')) return false;
    const m = /^https?:\/\/[^\s<>"'`*]{1,2000}/.exec(this.text.slice(this.#at, this.#at + 2100));
    if (!m) return false;
    let found = m[0].replace(/[.,;:!?]+$/, '');
    while (found.endsWith(')') && count(found, ')') > count(found, '(')) found = found.slice(0, -1);
    const href = safe(found);
    if (!href) return false;
    return this.#add({ t: 'a', href, c: [{ t: 'text', text: found }] }, this.#at + found.length);
  }
}

function unlink(node: Inline): Inline {
  return node.t === 'a' ? { t: 'i', c: node.c } : node;
}

function unbalanced(label: string): boolean {
  return count(label, '[') !== count(label, ']');
}

function count(text: string, c: string): number {
  let n = 0;
  for (const x of text) if (x === c) n++;
  return n;
}

/** The address if it leads to the web or to mail, else nothing. */
export function safe(address: string): string {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return '';
  }
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : '';
}

// What a person approves must be what they see. Characters that act on a screen,
// turn the direction of text, hide or take no room are written out as ⟨U+202E⟩.
// The hub's twin is internal/visible; both are held to testdata/visible.json.

// A list of our own, not Unicode's categories: browsers know different versions of those.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{16fe4}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}]/u;
const every = new RegExp(hidden.source, 'gu');

// Some invisible characters belong to a drawn sign: one selector behind a pictograph, a joiner
// inside an emoji or between letters of a script that joins, a no-break space of typography.
const pictograph = '[\\u00a9\\u00ae\\u203c\\u2049\\u2122\\u2139\\u2190-\\u21ff\\u2300-\\u23ff\\u24c2\\u25a0-\\u27bf\\u2900-\\u297f\\u2b00-\\u2bff\\u3030-\\u303d\\u3297-\\u3299\\u{1f000}-\\u{1faff}]';
const joining = '[\\u0620-\\u074f\\u0900-\\u0dff]';
const belongs = new RegExp([
  `(?<=${pictograph})[\\ufe0e\\ufe0f]`, '(?<=[0-9#*])[\\ufe0e\\ufe0f](?=\\u20e3)',
  `(?<=${pictograph}[\\ufe0e\\ufe0f]?)\\u200d(?=${pictograph})`, `(?<=${joining})[\\u200c\\u200d](?=${joining})`,
  '(?<=[0-9«])[\\u00a0\\u202f]', '[\\u00a0\\u202f](?=[?!:;»%€])',
].join('|'), 'uy');

/** Whether a character is written out where it belongs to no drawn sign. */
export const hides = (character: string) => hidden.test(character);

/** Several lines: line ends and tabs stay, a line end of Windows becomes a plain one. */
export function visible(text: string): string {
  return written(text.replaceAll('\r\n', '\n'), every);
}

/** The text on one line: its line ends and tabs are written out, too. */
export function visibleLine(text: string): string {
  return written(text, new RegExp(`${hidden.source}|[\\n\\t]`, 'gu'));
}

function written(text: string, what: RegExp): string {
  return text.replace(what, (c, at: number) => {
    belongs.lastIndex = at;
    return belongs.test(text) ? c : `⟨U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** One argument as it will be used: strings verbatim, all else as JSON. */
export function exact(value: unknown): string {
  return visible(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined'));
}

/** The members of an arguments object, or the whole value when it is not an object. */
export function members(value: unknown): [string, string][] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') {
    try {
      return members(JSON.parse(value));
    } catch {
      return [['', visible(value)]];
    }
  }
  if (typeof value !== 'object' || Array.isArray(value)) return [['', exact(value)]];
  return Object.entries(value as Record<string, unknown>).map(([key, v]) => [visible(key), exact(v)]);
}

// What a person approves must be what they see. Characters that change the
// order of text, hide it or take no room are written out as escapes.

const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|\r(?!\n)/gu;

/** The text with every invisible character written as `\u{…}`. */
export function visible(text: string): string {
  return text.replace(hidden, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`);
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

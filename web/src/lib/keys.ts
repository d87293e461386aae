// Keyboard helpers.

export const isMac = /mac|iphone|ipad/i.test(navigator.platform || navigator.userAgent);

/** "⌘K" or "Ctrl K". */
export function chord(key: string): string {
  return isMac ? `⌘${key}` : `Ctrl ${key}`;
}

/** Whether a key press belongs to a field, so that single-letter shortcuts must stay quiet. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return !!target?.closest?.('input, textarea, select, [contenteditable="true"]');
}

/** A single-letter shortcut: no modifier, not in a field. */
export function plainKey(event: KeyboardEvent): string {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event)) return '';
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

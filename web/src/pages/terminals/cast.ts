// asciicast version 2: a header line, then one event a line.

export interface Cast {
  width: number;
  height: number;
  events: { at: number; kind: string; data: string }[];
  /** Seconds. */
  length: number;
}

export function parseCast(text: string): Cast {
  const [first, ...lines] = text.split('\n').filter((l) => l.trim());
  const head = JSON.parse(first ?? 'null') as { version?: number; width?: number; height?: number } | null;
  if (head?.version !== 2) throw new Error('This is not a recording.');
  const events: Cast['events'] = [];
  for (const line of lines) {
    // The end of a recording that still runs may be half a line.
    try {
      const [at, kind, data] = JSON.parse(line) as [number, string, string];
      if (typeof at === 'number' && typeof data === 'string') events.push({ at, kind, data });
    } catch {
      break;
    }
  }
  return { width: head.width || 80, height: head.height || 24, events, length: events.at(-1)?.at ?? 0 };
}

// How figures and times are written, everywhere the same.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "4:05", "1:02:09"; never negative. */
export function countdown(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n: number) => String(n).padStart(2, '0');
  if (s >= 86_400) return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
  if (s >= 3600) return `${Math.floor(s / 3600)}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
  return `${Math.floor(s / 60)}:${two(s % 60)}`;
}

/** "just now", "5 min ago", "in 3 h", "12 Mar". */
export function ago(at: string | undefined, now: number): string {
  const time = at ? Date.parse(at) : NaN;
  if (Number.isNaN(time)) return 'never';
  const ms = now - time;
  const size = Math.abs(ms);
  if (size < 45_000) return ms >= -5000 ? 'just now' : 'in a moment';
  if (size > 30 * DAY) return day(at);
  const text = span(size);
  return ms >= 0 ? `${text} ago` : `in ${text}`;
}

/** The largest whole unit of a duration: "5 min", "3 h", "2 days". */
export function span(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.round(ms / 1000))} s`;
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.round(ms / HOUR)} h`;
  const days = Math.round(ms / DAY);
  return days === 1 ? '1 day' : `${days} days`;
}

export function day(at: string | undefined): string {
  const time = at ? new Date(at) : null;
  if (!time || !(time.getTime() > 0)) return '–';
  const sameYear = time.getFullYear() === new Date().getFullYear();
  return time.toLocaleDateString(undefined, { day: 'numeric', month: 'short', ...(sameYear ? {} : { year: 'numeric' }) });
}

/** "today", "yesterday", else the day. */
export function lately(at: string | undefined, now: number): string {
  const text = day(at);
  if (text === day(new Date(now).toISOString())) return 'today';
  return text === day(new Date(now - DAY).toISOString()) ? 'yesterday' : text;
}

/** Who it was, without what kind of somebody: "person:ada" → "ada". */
export function who(principal: string): string {
  return principal.replace(/^(agent|person|device|machine):/, '');
}

/** Date and time to the second, for tables and tooltips. */
export function moment(at: string | undefined): string {
  const time = at ? new Date(at) : null;
  if (!time || !(time.getTime() > 0)) return '–';
  return time.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

export function clockTime(at: string | undefined): string {
  const time = at ? new Date(at) : null;
  if (!time || Number.isNaN(time.getTime())) return '';
  return time.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
}

/** Milliseconds as a person reads them. */
export function duration(ms: number | undefined): string {
  if (ms === undefined || ms === null) return '';
  if (ms < 1) return '<1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / 1000).toFixed(1)} s`;
  return span(ms);
}

export function money(usd: number | undefined): string {
  const value = usd ?? 0;
  if (value === 0) return '$0.00';
  return value < 0.01 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;
}

/** 1234 → "1.2k". */
export function short(n: number | undefined): string {
  const value = n ?? 0;
  if (value < 1000) return String(value);
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** 3908 → "3.8 KB". */
export function bytes(n: number): string {
  if (n < 1024) return `${n} bytes`;
  const [value, unit] = n < 1024 ** 2 ? [n / 1024, 'KB'] : n < 1024 ** 3 ? [n / 1024 ** 2, 'MB'] : n < 1024 ** 4 ? [n / 1024 ** 3, 'GB'] : [n / 1024 ** 4, 'TB'];
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}

export function plural(n: number, one: string, many = one + 's'): string {
  return `${n} ${n === 1 ? one : many}`;
}

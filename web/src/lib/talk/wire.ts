// What can be asked of the conversations besides talking, in the page's own words.

import type { Stored } from '../attach';
import type { ArchiveInfo, HistoryMessage } from '../../gen/agentfirst_pb.js';
import { Problem } from '../api';
import type { Answer, Link, Place } from './link.svelte';

export interface Conversation extends Place {
  /** Names the conversation to the hub. */
  handle: string;
  title: string;
  messages: number;
  date: string;
}

export interface Archive {
  id: string;
  title: string;
  summary: string;
  at: string;
  messages: number;
}

export interface Line {
  seq: number;
  role: string;
  agent: string;
  text: string;
  at: string;
  summary: boolean;
  /** How the turn ended whose last words these are, if not well; empty otherwise. */
  ending: string;
  files: Stored[];
}

export interface Hit {
  kind: string;
  archive: string;
  speaker: string;
  role: string;
  text: string;
  at: string;
  title: string;
  place: Place;
  seq: number;
}

type Case = NonNullable<Answer['case']>;
type Value<C extends Case> = Extract<Answer, { case: C }>['value'];

/** The value of an answer of the expected kind. */
export function expect<C extends Case>(answer: Answer, wanted: C): Value<C> {
  if (answer.case !== wanted) throw new Problem(-1, 'unexpected', 'The hub answered something else', `${answer.case ?? 'nothing'} instead of ${wanted}`);
  return answer.value as unknown as Value<C>;
}

export async function listConversations(link: Link, agent: string, sender: string): Promise<Conversation[]> {
  const list = expect(await link.ask({ case: 'listConversations', value: { agent, sender } }), 'conversationList');
  return list.conversations.map((c) => ({ agent: c.agent, sender: c.sender, thread: c.thread, handle: c.filePath, title: c.title, messages: Number(c.messageCount), date: c.date }));
}

/** What was said before a message, archived or not, oldest first. */
export async function earlierLines(link: Link, place: Place, before: number, limit = 100): Promise<{ lines: Line[]; more: boolean }> {
  const sender = place.sender || link.sender;
  const here = (await listConversations(link, place.agent, place.sender)).find((c) => c.agent === place.agent && c.thread === place.thread && c.sender === sender);
  if (!here) return { lines: [], more: false };
  const value = { filePath: here.handle, beforeSeq: BigInt(before), limit, archived: true };
  const page = expect(await link.ask({ case: 'getConversationHistory', value }), 'conversationHistory');
  return { lines: page.messages.map(line), more: page.truncated };
}

export async function listArchives(link: Link, place: Place): Promise<Archive[]> {
  const list = expect(await link.ask({ case: 'listArchives', value: place }), 'archiveList');
  return list.archives.map(archive);
}

export async function readArchive(link: Link, id: string, afterSeq = 0): Promise<{ info: Archive; lines: Line[]; more: boolean }> {
  const a = expect(await link.ask({ case: 'getArchive', value: { id, afterSeq: BigInt(afterSeq), limit: 200 } }), 'archive');
  return { info: archive(a.info), lines: a.messages.map(line), more: a.truncated };
}

export async function search(link: Link, query: string, place: { agent: string; sender: string }): Promise<Hit[]> {
  const found = expect(await link.ask({ case: 'search', value: { query, ...place, limit: 20 } }), 'searchResult');
  return found.hits.map((h) => ({
    kind: h.kind, archive: h.archiveId, speaker: h.speaker, role: h.role, text: h.snippet, at: h.at, title: h.title,
    place: { agent: h.agent, sender: h.sender, thread: h.thread }, seq: Number(h.seq),
  }));
}

export async function compact(link: Link, place: Place, focus: string): Promise<{ summary: string; title: string }> {
  return expect(await link.ask({ case: 'compact', value: { ...place, focus } }), 'compact');
}

export async function setTitle(link: Link, handle: string, title: string): Promise<void> {
  expect(await link.ask({ case: 'setTitle', value: { filePath: handle, title } }), 'pong');
}

export async function remove(link: Link, handle: string): Promise<void> {
  expect(await link.ask({ case: 'deleteConversation', value: { filePath: handle } }), 'pong');
}

/** The whole conversation as JSONL. */
export async function exportLines(link: Link, handle: string): Promise<Blob> {
  const pieces: BlobPart[] = [];
  await link.each({ case: 'export', value: { filePath: handle } }, (answer) => {
    const piece = expect(answer, 'jsonl');
    pieces.push(new Uint8Array(piece.data));
    return piece.last;
  });
  return new Blob(pieces, { type: 'application/jsonl' });
}

/** What fits into one message of the wire, with room for its envelope. */
export const IMPORT_LIMIT = 15 << 20;

export async function importLines(link: Link, data: Uint8Array, to: { agent: string; thread: string; append: boolean }) {
  const { messages, archives, skipped } = expect(await link.ask({ case: 'import', value: { data, last: true, ...to } }), 'importResult');
  return { messages, archives, skipped };
}

function archive(a: ArchiveInfo | undefined): Archive {
  return { id: a?.id ?? '', title: a?.title ?? '', summary: a?.summary ?? '', at: a?.archivedAt ?? '', messages: a?.messages ?? 0 };
}

/** How a turn ended, for whoever reads its words; empty for one that is complete. */
export function ending(outcome: string, code: string): string {
  const why = code ? `: ${code}` : '';
  if (outcome === 'cut') return `Cut short${why}.`;
  if (outcome === 'cancelled') return 'Stopped.';
  if (outcome === 'interrupted') return 'The hub ended meanwhile.';
  if (outcome === 'failed') return `It failed${why}.`;
  return '';
}

/** The files that go along with a message. */
export function filesOf(m: HistoryMessage): Stored[] {
  return m.files.map((f) => ({ digest: f.digest, name: f.name, type: f.type, size: Number(f.size) }));
}

function line(m: HistoryMessage): Line {
  return { seq: Number(m.seq), role: m.role, agent: m.agent, text: m.content, at: m.at, summary: m.summary, ending: ending(m.outcome, m.outcomeCode), files: filesOf(m) };
}

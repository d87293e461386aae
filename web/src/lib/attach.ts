// Files said with a message. Pictures, PDFs and voice notes are put into the hub, and the message
// names them. A text file goes into the message as a named block between fences, which every model
// can read and every client can find again:
//
//   Attached file "notes.txt" (11 bytes):
//   ```
//   hello there
//   ```
//
// The fence is longer than any in the file, and the size tells a block of ours
// from words that only look like one.

export interface Attachment {
  name: string;
  text: string;
  /** Set for a file that is in the hub: it has no text. */
  stored?: Stored;
}

/** A picture, a PDF or a voice note as the hub keeps it. */
export interface Stored {
  digest: string;
  name: string;
  type: string;
  size: number;
}

/** Where the hub shows a file. */
export const fileAddress = (file: Stored): string => `/api/files/${encodeURIComponent(file.digest)}`;

/** A piece of a message: words, or a file. */
export type Piece = { kind: 'words'; text: string } | ({ kind: 'file'; size: number } & Attachment);

/** What one message holds, in bytes, and what of it is kept for the words around the files. */
export const MESSAGE_LIMIT = 8 << 20;
const FOR_WORDS = 64 << 10;
export const FILES_LIMIT = 20;

export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** A name that cannot be taken for anything else: no path, no quotes, nothing invisible. */
export function plainName(name: string): string {
  const last = name.split(/[\\/]/).pop() ?? '';
  const plain = last.replace(/["\p{Cc}\p{Cf}\u2028\u2029]/gu, '_').trim();
  return [...plain].slice(0, 120).join('') || 'file';
}

/** The words and the files as one message. */
export function compose(words: string, files: readonly Attachment[]): string {
  return [words, ...files.filter((f) => !f.stored).map(block)].filter(Boolean).join('\n\n');
}

function block({ name, text }: Attachment): string {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `Attached file "${plainName(name)}" (${bytesOf(text)} bytes):\n${fence}\n${text}\n${fence}`;
}

/** A message as it was put together. What is not exactly a block stays words. */
export function pieces(message: string): Piece[] {
  const out: Piece[] = [];
  const head = /^Attached file "([^"\n]+)" \((\d{1,9}) bytes\):\n(`{3,})\n/gm;
  let from = 0;
  const words = (text: string) => {
    const plain = text.replace(/^\n+|\n+$/g, '');
    if (plain) out.push({ kind: 'words', text: plain });
  };
  for (let found = head.exec(message); found; found = head.exec(message)) {
    const [whole, name, size, fence] = found as unknown as [string, string, string, string];
    const begin = found.index + whole.length;
    const end = closing(message, begin, fence);
    const text = message.slice(begin, end);
    if (end < 0 || bytesOf(text) !== Number(size)) continue;
    words(message.slice(from, found.index));
    out.push({ kind: 'file', name, text, size: Number(size) });
    from = head.lastIndex = end + 1 + fence.length;
  }
  words(message.slice(from));
  return out;
}

// Where the line break before the closing fence is. The fence must be its whole line.
function closing(message: string, begin: number, fence: string): number {
  // An empty file has its line break right after the opening one.
  for (let at = message.indexOf(`\n${fence}`, begin); at >= 0; at = message.indexOf(`\n${fence}`, at + 1)) {
    const next = message[at + 1 + fence.length];
    if (next === undefined || next === '\n') return at;
  }
  return -1;
}

/** A message without its files, and the files: to be edited again. */
export function decompose(message: string): { words: string; files: Attachment[] } {
  const all = pieces(message);
  return {
    words: all.flatMap((p) => (p.kind === 'words' ? [p.text] : [])).join('\n\n'),
    files: all.flatMap((p) => (p.kind === 'file' ? [{ name: p.name, text: p.text }] : [])),
  };
}

// Whatever else a file is, the hub says, by its bytes.
const seenOrHeard = /^(image\/(?!svg)|audio\/|application\/pdf$)/;

/** Reads a file that a message can carry, or puts it into the hub; throws a line that says why it cannot. */
export async function readAttachment(file: File, already: readonly Attachment[], put: (file: File) => Promise<Stored>): Promise<Attachment> {
  const name = plainName(file.name);
  if (already.length >= FILES_LIMIT) throw new Error(`${name} was not attached: ${FILES_LIMIT} files are the most in one message.`);
  if (seenOrHeard.test(file.type)) {
    try {
      return { name, text: '', stored: await put(file) };
    } catch (error) {
      throw new Error(`${name} was not attached: ${(error as Error).message}`, { cause: error });
    }
  }
  const room = MESSAGE_LIMIT - FOR_WORDS - already.reduce((sum, a) => sum + bytesOf(a.text), 0);
  if (file.size > room) throw new Error(`${name} was not attached: it has ${size(file.size)}, and ${already.length ? 'there is room for ' + size(Math.max(0, room)) + ' more' : 'a message holds ' + size(room)}.`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
  } catch (error) {
    if (error instanceof TypeError) throw notText(name);
    throw new Error(`${name} was not attached: it could not be read.`, { cause: error });
  }
  if (text.includes('\0')) throw notText(name);
  return { name, text };
}

function notText(name: string): Error {
  return new Error(`${name} was not attached: it is not a text file (UTF-8).`);
}

/** "11 bytes", "1.4 KB", "2.0 MB". */
export function size(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

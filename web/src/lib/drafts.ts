// Files that are attached but not sent yet, kept over a reload. What is small is in
// the tab's own storage, at once; what does not fit there is in the browser's
// database, under this tab's name. Both are emptied when the message is sent, when
// the files are removed, and on signing out; what closed tabs left is dropped after
// a week, or when newer files need the room.

import type { Attachment } from './attach';

const DATABASE = 'parley-drafts';
const STORE = 'files';
const ELSEWHERE = '"in the database"';
const LIFE = 7 * 24 * 3600_000;
/** As many characters are kept in all; eight full messages. */
const ROOM = 64 << 20;

interface Kept {
  key: string;
  at: number;
  size: number;
  files: Attachment[];
}

/** What is there at once; nothing if it is in the database. */
export function filesAtOnce(name: string): Attachment[] {
  const text = sessionStorage.getItem(name);
  return text && text !== ELSEWHERE ? (JSON.parse(text) as Attachment[]) : [];
}

/** What is in the database; empty if nothing is. */
export async function filesLater(name: string): Promise<Attachment[]> {
  if (sessionStorage.getItem(name) !== ELSEWHERE) return [];
  return use('readonly', async (store) => ((await answer(store.get(keyOf(name)))) as Kept | undefined)?.files ?? []);
}

/** Keeps files in the place of those kept before; fails if the browser will not. */
export async function keepFiles(name: string, files: readonly Attachment[]): Promise<void> {
  const before = sessionStorage.getItem(name);
  sessionStorage.removeItem(name);
  const fits = keptAtOnce(name, files);
  if (fits && before !== ELSEWHERE) return;
  await use('readwrite', async (store) => {
    if (fits) {
      store.delete(keyOf(name));
      return;
    }
    const kept: Kept = { key: keyOf(name), at: Date.now(), size: files.reduce((sum, f) => sum + f.text.length, 0), files: [...files] };
    store.put(kept);
    await tidy(store);
  });
  if (!fits) sessionStorage.setItem(name, ELSEWHERE);
}

/** Forgets the files of every tab. */
export function forgetFiles(): void {
  for (const name of Object.keys(sessionStorage)) if (sessionStorage.getItem(name) === ELSEWHERE) sessionStorage.removeItem(name);
  globalThis.indexedDB?.deleteDatabase(DATABASE);
}

function keptAtOnce(name: string, files: readonly Attachment[]): boolean {
  if (!files.length) return true;
  try {
    sessionStorage.setItem(name, JSON.stringify(files));
    return true;
  } catch {
    return false; // more than a tab may keep
  }
}

function keyOf(name: string): string {
  const tab = sessionStorage.getItem('parley.tab') ?? crypto.randomUUID();
  sessionStorage.setItem('parley.tab', tab);
  return `${tab}/${name}`;
}

// The newest stay, as far as there is room for them.
function tidy(store: IDBObjectStore): Promise<void> {
  return new Promise((done, fail) => {
    let room = ROOM;
    const walk = store.index('at').openCursor(null, 'prev');
    walk.onerror = () => fail(walk.error);
    walk.onsuccess = () => {
      const cursor = walk.result;
      if (!cursor) return done();
      const { at, size } = cursor.value as Kept;
      room -= size;
      if (room < 0 || at < Date.now() - LIFE) cursor.delete();
      cursor.continue();
    };
  });
}

// One transaction: what fn gives back, once all of it is on disk.
async function use<T>(mode: IDBTransactionMode, fn: (store: IDBObjectStore) => Promise<T>): Promise<T> {
  const db = await open();
  try {
    const transaction = db.transaction(STORE, mode);
    const over = new Promise<void>((done, fail) => {
      transaction.oncomplete = () => done();
      transaction.onabort = transaction.onerror = () => fail(transaction.error);
    });
    const [result] = await Promise.all([fn(transaction.objectStore(STORE)), over]);
    return result;
  } finally {
    db.close();
  }
}

function open(): Promise<IDBDatabase> {
  const asked = indexedDB.open(DATABASE, 1);
  asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { keyPath: 'key' }).createIndex('at', 'at');
  return answer(asked);
}

function answer<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
}

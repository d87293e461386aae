// What a reload needs to go on as the same participant: the resume secret, which
// stays in this tab, and the certificate, which browsers can store but not show.

import type { Memory } from '../../sdk/connect';
import { newCertificate } from '../../sdk/mesh';

export function memoryOf(room: string) {
  const key = `parley.room.${room}`;
  return {
    load: (): Memory | undefined => {
      try {
        return JSON.parse(sessionStorage.getItem(key) ?? 'null') ?? undefined;
      } catch {
        return undefined;
      }
    },
    save: (memory: Memory | undefined) => {
      if (memory) sessionStorage.setItem(key, JSON.stringify(memory));
      else sessionStorage.removeItem(key);
    },
  };
}

/** This tab's certificate for a room, the same after a reload. */
export async function certificateOf(room: string): Promise<{ certificate: RTCCertificate; fp: string } | undefined> {
  if (typeof RTCPeerConnection === 'undefined') return undefined;
  const tab = sessionStorage.getItem('parley.tab') ?? crypto.randomUUID();
  sessionStorage.setItem('parley.tab', tab);
  const key = `${tab} ${room}`;
  try {
    const db = await opened();
    const kept = await done<RTCCertificate | undefined>(db.transaction('certificates').objectStore('certificates').get(key));
    if (kept && kept.expires > Date.now() + 86_400_000) {
      db.close();
      return { certificate: kept, fp: (kept.getFingerprints()[0]?.value ?? '').toLowerCase() };
    }
    const made = await newCertificate();
    await done(db.transaction('certificates', 'readwrite').objectStore('certificates').put(made.certificate, key));
    db.close();
    return made;
  } catch {
    return newCertificate(); // a browser that stores nothing: only the reload is not seamless
  }
}

function opened(): Promise<IDBDatabase> {
  const request = indexedDB.open('parley-rooms', 1);
  request.onupgradeneeded = () => request.result.createObjectStore('certificates');
  return done(request);
}

function done<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T);
    request.onerror = () => reject(request.error);
  });
}

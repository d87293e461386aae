// Keeps the shell of the page, and nothing else, so that it opens without the
// hub and can say so. Answers of the hub are never stored.
const SHELL = __SHELL__;
const CACHE = 'parley-shell-__VERSION__';

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(SHELL)).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((n) => n.startsWith('parley-shell-') && n !== CACHE).map((n) => caches.delete(n))))
      .then(() => self.clients.claim()),
  );
});

// The page itself comes from the hub when it answers, so that an update is
// seen at once; else from the cache.
async function fresh(request, kept) {
  try {
    const answer = await fetch(request);
    if (answer.status < 500) return answer;
  } catch {
    // The hub is not there: fall through to the kept shell.
  }
  return (await caches.match(kept)) ?? Response.error();
}

// Assets carry a hash of their content in their name: the first copy is right for ever.
async function asset(request) {
  const kept = await caches.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) (await caches.open(CACHE)).put(request, answer.clone());
  return answer;
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== self.location.origin) return;
  if (url.pathname.startsWith('/assets/')) event.respondWith(asset(request));
  else if (request.mode === 'navigate' && !url.pathname.startsWith('/api/')) event.respondWith(fresh(request, '/'));
  else if (SHELL.includes(url.pathname)) event.respondWith(fresh(request, request));
});

// What needs a person while no page is open. The message was encrypted for this
// browser by the hub; it carries no credential.
self.addEventListener('push', (event) => {
  const note = event.data?.json() ?? { title: 'Something waits for you', path: '/inbox' };
  event.waitUntil(
    self.registration.showNotification(note.title, {
      body: note.text ?? '', tag: note.id, icon: '/icon.svg', requireInteraction: true,
      data: { path: note.path, approval: note.approval },
      actions: note.approval ? [{ action: 'approve', title: 'Approve' }, { action: 'reject', title: 'Reject' }] : [],
    }),
  );
});

self.addEventListener('notificationclick', (event) => {
  const { path, approval } = event.notification.data ?? {};
  event.notification.close();
  const decides = approval && (event.action === 'approve' || event.action === 'reject');
  event.waitUntil(decides ? decide(approval, event.action === 'approve', path) : open(path));
});

// The answer goes with this browser's own login, like one given on the page.
async function decide(id, approved, path) {
  const session = await fetch('/api/session', { credentials: 'same-origin', cache: 'no-store' });
  if (session.ok) {
    const { csrf } = await session.json();
    const answer = await fetch(`/api/approvals/${encodeURIComponent(id)}`, {
      method: 'POST', credentials: 'same-origin', headers: { 'Content-Type': 'application/json', 'X-Parley-CSRF': csrf }, body: JSON.stringify({ approved }),
    });
    if (answer.ok) return;
  }
  return open(path);
}

async function open(path) {
  const target = new URL(path ?? '/inbox', self.location.origin);
  if (target.origin !== self.location.origin) return;
  for (const client of await self.clients.matchAll({ type: 'window' })) {
    if ('navigate' in client) {
      await client.focus();
      return client.navigate(target.href);
    }
  }
  return self.clients.openWindow(target.href);
}

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

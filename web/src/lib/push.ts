// Being told by this browser while the page is closed. The hub encrypts each
// message for this one browser; the service worker shows it.

import { api } from './api';

export type PushState = 'unsupported' | 'denied' | 'off' | 'on';

/** Whether this browser can be told, and is. */
export async function pushState(): Promise<PushState> {
  if (!('serviceWorker' in navigator) || !('PushManager' in window) || !('Notification' in window)) return 'unsupported';
  if (Notification.permission === 'denied') return 'denied';
  return (await current()) ? 'on' : 'off';
}

async function current(): Promise<PushSubscription | null> {
  const worker = await navigator.serviceWorker.getRegistration();
  return (await worker?.pushManager.getSubscription()) ?? null;
}

/** Asks the person, then the browser's push service, then tells the hub. */
export async function switchOn(): Promise<PushState> {
  if ((await Notification.requestPermission()) !== 'granted') return Notification.permission === 'denied' ? 'denied' : 'off';
  const worker = await navigator.serviceWorker.ready;
  const { public_key } = await api.pushKey();
  const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(public_key) });
  const { endpoint, keys } = subscription.toJSON() as { endpoint: string; keys: { p256dh: string; auth: string } };
  await api.pushSubscribe({ endpoint, p256dh: keys.p256dh, auth: keys.auth });
  return 'on';
}

export async function switchOff(): Promise<PushState> {
  const subscription = await current();
  if (subscription) {
    await api.pushUnsubscribe(subscription.endpoint);
    await subscription.unsubscribe();
  }
  return 'off';
}

/** Bytes of base64url text. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(raw, (c) => c.charCodeAt(0));
}

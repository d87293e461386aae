// What the command palette can do, besides going to a page.

import type { IconName } from '../parts/Icon.svelte';
import { inbox } from './inbox.svelte';
import { live } from './live.svelte';
import { router } from './router.svelte';
import { session } from './session.svelte';
import { theme } from './theme.svelte';

export interface Command {
  title: string;
  icon: IconName;
  words?: string;
  hint?: string;
  run: () => void;
}

/** The commands that make sense now. */
export function commands(): Command[] {
  const list: Command[] = [];
  if (session.can('approval:read')) list.push({ title: 'Show what needs me', icon: 'bell', words: 'inbox drawer approvals', run: () => (inbox.open = true) });
  if (session.can('device:manage')) {
    list.push(
      { title: 'Pair a device', icon: 'device', words: 'phone code', run: () => router.go('/settings/devices') },
      { title: 'Make a token', icon: 'key', words: 'create api scope', run: () => router.go('/settings/tokens') },
    );
  }
  list.push(
    { title: 'Theme: light', icon: 'sun', run: () => theme.set('light') },
    { title: 'Theme: dark', icon: 'moon', run: () => theme.set('dark') },
    { title: 'Theme: as the system', icon: 'auto', run: () => theme.set('system') },
    { title: 'Connect again', icon: 'refresh', words: 'reconnect live', run: () => live.retry() },
    { title: 'Sign out', icon: 'signout', words: 'log out leave', run: () => void session.signOut() },
  );
  return list;
}

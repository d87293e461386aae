// Every page of the hub. To add one: write a component in pages/ and an entry
// here. The navigation, the command palette and the routes follow this list.

import type { Component } from 'svelte';
import { inbox } from './lib/inbox.svelte';
import type { IconName } from './parts/Icon.svelte';

export interface PageEntry {
  /** Where it lives. What follows in the address is given to the component as `rest`. */
  path: string;
  title: string;
  icon: IconName;
  /** The scope without which the page is not offered. */
  needs?: string;
  /** Pages about running the hub stand apart, below. */
  group: 'main' | 'hub';
  /** Other words under which the palette finds it. */
  words?: string;
  /** Reached by a link only. */
  hidden?: boolean;
  /** A number beside the name. */
  badge?: () => number;
  load: () => Promise<{ default: Component<{ rest: string[] }> }>;
}

export const pages: PageEntry[] = [
  { path: '/', title: 'Home', icon: 'home', group: 'main', words: 'status health overview', load: () => import('./pages/Home.svelte') },
  { path: '/inbox', title: 'Inbox', icon: 'inbox', group: 'main', needs: 'approval:read', words: 'approvals questions consent', badge: () => inbox.count, load: () => import('./pages/Inbox.svelte') },
  { path: '/agents', title: 'Agents', icon: 'agents', group: 'main', needs: 'talk', words: 'chat conversations talk memory archives', load: () => import('./pages/Agents.svelte') },
  { path: '/tasks', title: 'Tasks', icon: 'bolt', group: 'main', needs: 'task:read', words: 'goal run work agents stop steer', load: () => import('./pages/Tasks.svelte') },
  { path: '/terminals', title: 'Terminals', icon: 'terminal', group: 'main', needs: 'terminal:read', words: 'shell pty console recording', load: () => import('./pages/Terminals.svelte') },
  { path: '/rooms', title: 'Rooms', icon: 'rooms', group: 'main', needs: 'rooms', words: 'live people agents consent grants', load: () => import('./pages/Rooms.svelte') },
  { path: '/r', title: 'Room', icon: 'rooms', group: 'main', hidden: true, load: () => import('./pages/Room.svelte') },
  { path: '/pass', title: 'Let a website in', icon: 'rooms', group: 'main', hidden: true, load: () => import('./pages/Pass.svelte') },
  { path: '/machines', title: 'Machines', icon: 'machines', group: 'main', needs: 'fleet:read', words: 'fleet computers endpoints health telemetry', load: () => import('./pages/Machines.svelte') },
  { path: '/place', title: 'Meeting place', icon: 'place', group: 'main', needs: 'place', words: 'agents skills relay keys trust postings peers', load: () => import('./pages/Place.svelte') },
  { path: '/audit', title: 'Audit', icon: 'audit', group: 'hub', needs: 'audit:read', words: 'log trail history verify', load: () => import('./pages/Audit.svelte') },
  { path: '/settings', title: 'Settings', icon: 'settings', group: 'hub', words: 'people devices tokens pairing models about backup', load: () => import('./pages/Settings.svelte') },
];

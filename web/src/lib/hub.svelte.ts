// What the hub says about itself: loaded at the start, pushed when it changes.

import { api } from './api';
import { live } from './live.svelte';
import { Resource } from './resource.svelte';

export const hub = new Resource(() => api.status());

live.on('hello', () => void hub.reload());
live.on('status', (status) => {
  if (status && typeof status === 'object' && 'checks' in status) hub.data = status;
  else void hub.reload();
});

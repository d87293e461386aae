import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { router } from './lib/router.svelte';
import { session } from './lib/session.svelte';

router.start();
void session.start();
mount(App, { target: document.getElementById('app')! });

if (import.meta.env.PROD) keepShell();

// Registers the service worker. Under the page's policy a script address must
// come from a named maker; this one makes exactly one address.
function keepShell(): void {
  if (!('serviceWorker' in navigator)) return;
  const types = (window as { trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } } }).trustedTypes;
  const maker = types?.createPolicy('parley-worker', { createScriptURL: () => '/sw.js' });
  navigator.serviceWorker.register(maker?.createScriptURL('') ?? '/sw.js').catch(() => {
    // Not on this origin (plain http elsewhere than localhost): the page works without it.
  });
}

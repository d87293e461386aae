import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

// The service worker must know the names of the shell's files, which carry a
// hash of their content. So it is written last, from what was just built.
function serviceWorker(): Plugin {
  return {
    name: 'parley-service-worker',
    apply: 'build',
    generateBundle(_options, bundle) {
      const shell = new Set(['/', '/theme.js', '/icon.svg', '/manifest.webmanifest']);
      const add = (name: string) => {
        const chunk = bundle[name];
        if (!chunk || shell.has('/' + name)) return;
        shell.add('/' + name);
        if (chunk.type !== 'chunk') return;
        chunk.imports.forEach(add);
        chunk.viteMetadata?.importedCss.forEach(add);
      };
      for (const chunk of Object.values(bundle)) {
        if (chunk.type === 'chunk' && chunk.isEntry) add(chunk.fileName);
      }
      const list = JSON.stringify([...shell].sort());
      const version = createHash('sha256').update(list).digest('hex').slice(0, 12);
      const source = readFileSync(new URL('./src/sw.js', import.meta.url), 'utf8')
        .replace('__SHELL__', list)
        .replace('__VERSION__', version);
      this.emitFile({ type: 'asset', fileName: 'sw.js', source });
    },
  };
}

// `npm run dev` serves the page with hot reload against a hub that already runs.
const hub = process.env.PARLEY_HUB ?? 'http://127.0.0.1:7788';

export default defineConfig({
  plugins: [svelte(), serviceWorker()],
  build: {
    target: 'es2022',
    // An inlined asset would be a data: URL, which the page's policy allows
    // for images only; files are simpler to reason about.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: {
    proxy: {
      '/api': { target: hub },
      '/talk/ws': { target: hub, ws: true },
    },
  },
  // Svelte has a build for servers; the tests want the browser's.
  resolve: process.env.VITEST ? { conditions: ['browser'] } : {},
  // Far above what a test needs: a limit that only ends a hang.
  test: { include: ['src/**/*.test.ts'], testTimeout: 120_000 },
} as Parameters<typeof defineConfig>[0]);

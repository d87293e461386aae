import { defineConfig } from 'vite';

// The widget as one classic script, small, under a name that stays: pages of others name it.
export default defineConfig({
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: false,
    copyPublicDir: false,
    reportCompressedSize: true,
    lib: { entry: 'src/widget/widget.ts', formats: ['iife'], name: 'ParleyWidget', fileName: () => 'widget.js' },
  },
});

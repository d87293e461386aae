import { defineConfig } from 'vite';

// The room SDK as one ES module without dependencies, under a name that stays.
export default defineConfig({
  build: {
    target: 'es2022',
    outDir: 'dist/sdk',
    emptyOutDir: true,
    copyPublicDir: false,
    minify: false,
    lib: { entry: 'src/sdk/roomagent.ts', formats: ['es'], fileName: () => 'roomagent.js' },
  },
});

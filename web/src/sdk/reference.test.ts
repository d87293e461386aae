import { expect, it } from 'vitest';
import page from '../../../docs/sdk/javascript.md?raw';

// The compiler reads the whole SDK, which takes a while on a machine that does much else.
it('the reference says what the types say', { timeout: 300_000 }, async () => {
  // @ts-expect-error a script without types
  const { reference } = await import('./reference.mjs');
  const made: string = reference();
  expect(made).toContain('connectRoom(url: string, options?: ConnectOptions): RoomConnection');
  expect(page, 'docs/sdk/javascript.md is old: node src/sdk/reference.mjs > ../docs/sdk/javascript.md').toBe(made);
});

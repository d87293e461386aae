import { describe, expect, it } from 'vitest';
import { bytes } from './push';

describe('bytes', () => {
  it('reads base64url without padding', () => {
    expect([...bytes('-_8B')]).toEqual([251, 255, 1]);
    expect([...bytes('AA')]).toEqual([0]);
  });
});

import { describe, expect, it } from 'vitest';
import { parseCast } from './cast';

describe('a recording', () => {
  it('is read up to a line that is not whole', () => {
    const cast = parseCast('{"version":2,"width":100,"height":30}\n[0.5,"o","hi\\r\\n"]\n[1.25,"r","90x20"]\n[1.3,"o","ha');
    expect(cast).toEqual({ width: 100, height: 30, length: 1.25, events: [{ at: 0.5, kind: 'o', data: 'hi\r\n' }, { at: 1.25, kind: 'r', data: '90x20' }] });
  });
  it('of another kind is refused', () => {
    expect(() => parseCast('{"version":1}')).toThrow();
    expect(() => parseCast('')).toThrow();
  });
});

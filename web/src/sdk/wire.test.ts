import { describe, expect, it } from 'vitest';
import { fromWire, toWire } from './wire';

const over = (v: unknown) => fromWire(JSON.parse(JSON.stringify(toWire(v))));

describe('app data', () => {
  it('that is JSON goes as it is, so that every peer reads it', () => {
    const plain = { a: [1, 'x', null, true, { b: -1.5 }], __kib_agent: 'view', view: {} };
    expect(JSON.stringify(toWire(plain))).toBe(JSON.stringify(plain));
    expect(over(plain)).toEqual(plain);
  });

  it('keeps what JSON lacks', () => {
    const rich = {
      at: new Date(5), never: new Date(NaN), map: new Map<any, any>([['k', new Set([1n])], [{ a: 1 }, undefined]]), bytes: new Uint8Array([0, 255]), floats: new Float64Array([1.5, NaN]),
      part: new Uint16Array([1, 2, 3]).subarray(1), buffer: new Uint8Array([7]).buffer, odd: [NaN, Infinity, -Infinity, -0, undefined], big: 2n ** 70n,
    };
    expect(over(rich)).toEqual(rich);
    expect(Object.is(over([-0])[0], -0)).toBe(true);
  });

  it('is not taken for a wrapper because it looks like one', () => {
    for (const v of [{ __kib_type: 'Date', v: 'x' }, { __kib_type: 7 }, { a: { __kib_type: 'Map', v: [], more: 1 } }]) expect(over(v)).toEqual(v);
  });

  it('with itself inside, a function or too many levels is refused here', () => {
    const round: any = {};
    round.self = round;
    expect(() => toWire(round)).toThrow('itself');
    expect(() => toWire([() => {}])).toThrow('function');
    let deep: unknown = 1;
    for (let i = 0; i < 70; i++) deep = [deep];
    expect(() => toWire(deep)).toThrow('64 levels');
    const twice = { x: 1 };
    expect(over([twice, twice])).toEqual([twice, twice]);
  });

  it('of others harms nobody', () => {
    for (const v of [{ __kib_type: 'Map', v: 7 }, { __kib_type: 'Uint16Array', v: 'AA' }, { __kib_type: 'bigint', v: 'x' }, { __kib_type: 'constructor', v: 1 }, { __kib_type: 'Uint8Array', v: '%' }]) expect(fromWire(structuredClone(v))).toEqual(v);
    const hostile = fromWire(JSON.parse('{"__proto__":{"__kib_type":"Set","v":[1]},"a":1}'));
    expect(Object.getPrototypeOf(hostile)).toBe(Object.prototype);
    expect(({} as any).size).toBe(undefined);
  });
});

import { describe, expect, it } from 'vitest';
import { Meter, type Used } from './meter.svelte';

describe('the meter', () => {
  it('asks again for what happened while it asked, and shows only the newest figure', async () => {
    const answers: ((used: Used) => void)[] = [];
    const meter = new Meter(() => new Promise((done) => answers.push(done)));
    const told = meter.refresh();
    void meter.refresh();
    void meter.refresh();
    expect(answers.length).toBe(1);
    answers[0]!({ tokens: 1, cost: 1, whole: true });
    await new Promise((done) => setTimeout(done));
    expect(meter.used.tokens).toBe(0);
    expect(answers.length).toBe(2);
    answers[1]!({ tokens: 2, cost: 2, whole: true });
    await told;
    expect(meter.used).toEqual({ tokens: 2, cost: 2, whole: true });
    expect(answers.length).toBe(2);
  });

  it('keeps its figure while the hub is away', async () => {
    let away = false;
    const meter = new Meter(async () => {
      if (away) throw new Error('away');
      return { tokens: 5, cost: 0, whole: false };
    });
    await meter.refresh();
    away = true;
    await meter.refresh();
    expect(meter.used.tokens).toBe(5);
  });
});

import { describe, expect, it } from 'vitest';
import { actionCode, actionName, actionNames, actionsNamed } from './actions';

describe('names of actions', () => {
  it('are short, begin with a capital, and differ', () => {
    for (const [action, name] of actionNames) expect(name, action).toMatch(/^[A-Z].{3,44}$/);
    expect(new Set(actionNames.map(([, name]) => name)).size).toBe(actionNames.length);
  });

  it('are none for what a newer hub wrote', () => {
    expect(actionName('task.submitted')).toBe('Task started');
    expect(actionName('task.unheard_of')).toBe('');
    expect(actionName('constructor')).toBe('');
  });

  it('can be looked for, and so can codes', () => {
    expect(actionCode('task.')).toBe('task.');
    expect(actionCode('auth.refused')).toBe('auth.refused');
    expect(actionCode(' person added ')).toBe('person.added');
    expect(actionCode('Roll-out')).toBe('fleet.rollout.');
    expect(actionCode('refused')).toBe('refused'); // several families: the page lists them
    expect(actionsNamed('refused').length).toBeGreaterThan(3);
    expect(actionCode('')).toBe('');
  });
});

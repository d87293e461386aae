// An agent's definition between the form and the hub.

import type { Agent } from '../../lib/types';

export type ListKey = 'tools' | 'members' | 'skills' | 'mcps' | 'guest_tools' | 'auto_approve';

/** The form: every field as the text that is typed. */
export interface Fields extends Record<ListKey, string> {
  description: string;
  prompt: string;
  model: string;
  thinking: string;
  max_iterations: number | null;
}

export const lists: { key: ListKey; title: string; hint: string; placeholder: string; grave?: boolean }[] = [
  { key: 'tools', title: 'Tools', placeholder: 'ask_user recall remember forget skill', hint: 'Names or groups: files shell web machines rooms places tasks.' },
  { key: 'members', title: 'May delegate to', placeholder: 'nobody', hint: 'Names of agents, or * for all.' },
  { key: 'skills', title: 'Skills', placeholder: 'none', hint: 'Names, or * for all.' },
  { key: 'mcps', title: 'MCP servers', placeholder: 'none', hint: 'Names from the hub’s configuration, or * for all.' },
  { key: 'guest_tools', title: 'Tools as a guest', placeholder: 'none', hint: 'Read-only ones it may use in another agent’s conversation.' },
  { key: 'auto_approve', title: 'Runs without asking', placeholder: 'none', hint: 'Sensitive tools that need no consent for this agent. Leave empty unless you are sure.', grave: true },
];

export function fieldsOf(agent: Agent): Fields {
  const text = (value: unknown) => (Array.isArray(value) ? value.join(' ') : '');
  return {
    description: agent.description ?? '',
    prompt: agent.prompt ?? '',
    model: agent.model ?? '',
    thinking: typeof agent.thinking === 'string' && agent.thinking !== 'off' ? agent.thinking : agent.thinking === true ? 'medium' : '',
    max_iterations: agent.max_iterations ?? null,
    tools: text(agent.tools),
    members: text(agent.members),
    skills: text(agent.skills),
    mcps: text(agent.mcps),
    guest_tools: text(agent['guest_tools']),
    auto_approve: text(agent['auto_approve']),
  };
}

/** What differs, in the hub's terms. What was emptied is null: back to its default. */
export function changes(before: Fields, after: Fields): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  if (before.prompt !== after.prompt) out['prompt'] = after.prompt;
  for (const key of ['description', 'model'] as const) if (before[key] !== after[key]) out[key] = after[key].trim() || null;
  if (before.thinking !== after.thinking) out['thinking'] = after.thinking || 'off';
  if (before.max_iterations !== after.max_iterations) out['max_iterations'] = after.max_iterations || null;
  for (const { key } of lists) {
    if (before[key].trim() === after[key].trim()) continue;
    const names = after[key].split(/[\s,]+/).filter(Boolean);
    out[key] = names.length ? names : null;
  }
  return out;
}

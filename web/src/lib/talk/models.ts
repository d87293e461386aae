// The hub's models and where they come from.

import type { Link } from './link.svelte';
import { expect } from './wire';

export interface Model {
  /** provider:name */
  ref: string;
  active: boolean;
  enabled: boolean;
}

export interface Provider {
  name: string;
  active: boolean;
  enabled: boolean;
  kind: string;
  baseUrl: string;
  model: string;
  hasKey: boolean;
}

export interface Preset {
  name: string;
  baseUrl: string;
  fixed: boolean;
  model: string;
}

export async function listModels(link: Link): Promise<Model[]> {
  const list = expect(await link.ask({ case: 'listModels', value: {} }), 'modelList');
  return list.models.map((m) => ({ ref: `${m.provider}:${m.name}`, active: m.active, enabled: m.enabled }));
}

export async function listProviders(link: Link): Promise<Provider[]> {
  const list = expect(await link.ask({ case: 'listProviders', value: {} }), 'providerList');
  return list.providers.map((p) => {
    const config = read(p.config);
    const text = (key: string) => (typeof config[key] === 'string' ? (config[key] as string) : '');
    return { name: p.name, active: p.active, enabled: p.enabled, kind: text('kind'), baseUrl: text('base_url'), model: text('model'), hasKey: config['has_key'] === true };
  });
}

export async function listPresets(link: Link): Promise<Preset[]> {
  const list = expect(await link.ask({ case: 'listProviderPresets', value: {} }), 'providerPresetList');
  return list.presets.filter((p) => p.kind !== 0).map((p) => ({ name: p.name, baseUrl: p.fixedBaseUrl || p.baseUrl, fixed: !!p.fixedBaseUrl, model: p.defaultModel }));
}

export async function setActive(link: Link, ref: string): Promise<void> {
  expect(await link.ask({ case: 'setActiveModel', value: { model: ref } }), 'pong');
}

/** Adds or changes a provider. A key that is left out stays as it is. */
export async function setProvider(link: Link, name: string, config: Record<string, unknown>): Promise<void> {
  expect(await link.ask({ case: 'setProvider', value: { name, config: JSON.stringify(config) } }), 'providerList');
}

export async function deleteProvider(link: Link, name: string): Promise<void> {
  expect(await link.ask({ case: 'deleteProvider', value: { name } }), 'pong');
}

function read(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) as Record<string, unknown>) ?? {};
  } catch {
    return {};
  }
}

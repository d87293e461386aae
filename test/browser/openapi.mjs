// What the REST face says of itself is held against a validator that others use.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Stage } from './lib/stage.mjs';

let stage;
before(async () => {
  stage = await Stage.open();
});
after(() => stage?.close());

const rules = Object.fromEntries(
  ['struct', 'no-unresolved-refs', 'path-parameters-defined', 'operation-operationId-unique', 'operation-operationId-url-safe', 'operation-parameters-unique', 'no-identical-paths', 'security-defined'].map((name) => [name, 'error']),
);

async function problemsOf(document) {
  const config = await createConfig({ rules });
  const found = await lintFromString({ source: JSON.stringify(document), absoluteRef: '/openapi.json', config });
  return found.filter((p) => p.severity === 'error').map((p) => `${p.ruleId}: ${p.message} (${p.location[0].pointer})`);
}

test('the OpenAPI document is valid, and the validator would have said otherwise', async () => {
  const document = await stage.hub.call('GET', '/api/openapi.json');
  assert.ok(Object.keys(document.paths).length > 100, 'the document has all routes');
  assert.deepEqual(await problemsOf(document), []);

  const broken = structuredClone(document);
  delete broken.paths['/api/tasks/{id}'].get.parameters;
  assert.match((await problemsOf(broken)).join('\n'), /path parameter `\{id\}`/, 'a parameter nobody declared is found');
});

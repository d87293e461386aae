// A reporter for Node's test runner that says only how many tests passed and failed.

export default async function* tally(events) {
  let passed = 0;
  let failed = 0;
  for await (const event of events) {
    if (event.type === 'test:pass') passed++;
    if (event.type === 'test:fail') failed++;
  }
  yield `${passed} passed, ${failed} failed\n`;
}

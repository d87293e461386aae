/** What to call this browser in the list of devices. */
export function deviceName(): string {
  const ua = navigator.userAgent;
  const first = (pairs: [RegExp, string][], otherwise: string) => pairs.find(([test]) => test.test(ua))?.[1] ?? otherwise;
  const system = first([[/Android/, 'Android'], [/iPhone/, 'iPhone'], [/iPad/, 'iPad'], [/Windows/, 'Windows'], [/Mac/, 'Mac']], 'Linux');
  const browser = first([[/Firefox/, 'Firefox'], [/Edg\//, 'Edge'], [/Chrome/, 'Chrome'], [/Safari/, 'Safari']], 'browser');
  return `${browser} on ${system}`;
}

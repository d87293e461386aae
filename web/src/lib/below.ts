/** The segments of a path below a prefix, or null when the path is elsewhere. */
export function below(prefix: string, path: string): string[] | null {
  if (prefix === '/') return path === '/' ? [] : null;
  if (path !== prefix && !path.startsWith(prefix + '/')) return null;
  return path
    .slice(prefix.length)
    .split('/')
    .filter(Boolean)
    .map((segment) => {
      try {
        return decodeURIComponent(segment);
      } catch {
        return segment;
      }
    });
}

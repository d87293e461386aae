// What was said, kept in this tab so that a reload does not clear the screen. The hub sends
// again what came meanwhile; what came before is nobody else's to keep. Lines of a sealed
// room are not written anywhere.

const MOST = 200;

export function keptLines<Line>(key: string) {
  return {
    load: (): Line[] => {
      try {
        return JSON.parse(sessionStorage.getItem(key) ?? '[]');
      } catch {
        return [];
      }
    },
    save: (lines: Line[]) => {
      try {
        if (lines.length) sessionStorage.setItem(key, JSON.stringify(lines.slice(-MOST)));
        else sessionStorage.removeItem(key);
      } catch {
        // A browser that stores nothing, or is full: only the reload is not seamless.
      }
    },
  };
}

/**
 * On a phone a table becomes cards, and each cell carries the name of its column.
 * The roles stay those of a table, which styles would take away.
 */
export function cards(wrap: HTMLElement): { destroy: () => void } {
  const label = () => {
    const names = [...wrap.querySelectorAll('thead th')].map((th) => (th.textContent ?? '').trim().replace(/^./, (c) => c.toUpperCase()));
    wrap.querySelector('table')?.setAttribute('role', 'table');
    for (const row of wrap.querySelectorAll('tr')) {
      row.setAttribute('role', 'row');
      for (const [i, cell] of [...row.children].entries()) {
        cell.setAttribute('role', cell.tagName === 'TH' ? 'columnheader' : 'cell');
        if (cell.tagName === 'TD' && !cell.hasAttribute('colspan')) cell.setAttribute('data-label', names[i] ?? '');
      }
    }
  };
  label();
  const observer = new MutationObserver(label);
  observer.observe(wrap, { childList: true, subtree: true });
  return { destroy: () => observer.disconnect() };
}

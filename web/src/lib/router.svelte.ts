// The address bar as state. Links are plain anchors; a click on one of ours is
// taken over so that the page is not loaded again.

class Router {
  path = $state(location.pathname);
  query = $state(new URLSearchParams(location.search));

  start(): void {
    window.addEventListener('popstate', () => this.#read());
    document.addEventListener('click', (event) => this.#click(event));
  }

  go(to: string, options: { replace?: boolean } = {}): void {
    if (to === location.pathname + location.search + location.hash) return;
    history[options.replace ? 'replaceState' : 'pushState'](null, '', to);
    this.#read();
    if (!options.replace) window.scrollTo(0, 0);
  }

  #read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }

  #click(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const anchor = (event.target as Element | null)?.closest?.('a');
    if (!anchor || anchor.target || anchor.hasAttribute('download') || anchor.origin !== location.origin) return;
    if (anchor.pathname.startsWith('/api/')) return;
    if (anchor.hash && anchor.pathname === location.pathname) return;
    event.preventDefault();
    this.go(anchor.pathname + anchor.search + anchor.hash);
  }
}

export const router = new Router();

// xterm.js under a policy without inline styles. It makes <style> elements while
// it opens; each becomes a constructed style sheet instead, which scripts of the
// page may make.

import { FitAddon } from '@xterm/addon-fit';
import { Terminal, type ITheme } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { tame, type Tamed } from './tame';

export interface Opened {
  term: Terminal;
  fit: FitAddon;
  write: Tamed['write'];
  dispose: () => void;
}

/** answers says whether programs get answers from this page; a recording's never do. */
export function openTerminal(parent: HTMLElement, fontSize: number, answers: () => boolean = () => false): Opened {
  const term = new Terminal({
    fontSize, fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'), cursorBlink: false, scrollback: 5000,
    // Links a program prints are taken out by tame; nothing here opens any.
    linkHandler: { activate: () => {} }, allowProposedApi: false, theme,
  });
  const fit = new FitAddon();
  term.loadAddon(fit);
  const sheets: CSSStyleSheet[] = [];
  withSheets(sheets, () => term.open(parent));
  return {
    term,
    fit,
    write: tame(term, answers).write,
    dispose: () => {
      term.dispose();
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => !sheets.includes(s));
    },
  };
}

const theme: ITheme = {
  background: '#101416', foreground: '#e4e6e3', cursor: '#56c5b0', selectionBackground: '#2f5a52',
  black: '#1a1e21', red: '#f1958b', green: '#74ca8f', yellow: '#f0b748', blue: '#7fb2e5', magenta: '#cf9fe0', cyan: '#56c5b0', white: '#d5d9d6',
  brightBlack: '#929a9e', brightRed: '#ffb3ab', brightGreen: '#9be0af', brightYellow: '#ffd27a', brightBlue: '#a9cdf2', brightMagenta: '#e2c1ee', brightCyan: '#8be0cf', brightWhite: '#ffffff',
};

function withSheets(sheets: CSSStyleSheet[], run: () => void): void {
  const make = document.createElement.bind(document);
  document.createElement = ((name: string, options?: ElementCreationOptions) => (name === 'style' ? styleOf(make('span'), sheets) : make(name, options))) as typeof document.createElement;
  try {
    run();
  } finally {
    delete (document as { createElement?: unknown }).createElement;
  }
}

// A hidden element whose text is a style sheet.
function styleOf(element: HTMLElement, sheets: CSSStyleSheet[]): HTMLElement {
  const sheet = new CSSStyleSheet();
  sheets.push(sheet);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  element.hidden = true;
  Object.defineProperty(element, 'textContent', { set: (text: string) => sheet.replaceSync(text), get: () => '' });
  return element;
}

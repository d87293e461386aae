// What a program prints is for looking at. It may not put links into the page, set
// anything outside the terminal, or make the terminal type: an answer to a query
// goes into the shell as if a person had written it, and what is only shown again
// after a reload must not answer a second time.

import type { Terminal } from '@xterm/xterm';

const swallow = () => true;

/** Title and icon (0-2), working folder (7), links (8), notices (9, 777), clipboard (52), other programs' commands (133, 633, 1337). */
const outside = [0, 1, 2, 7, 8, 9, 52, 133, 633, 777, 1337];
/** Colours: setting them is fine, asking for them makes the terminal type. */
const colours = [4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];

export interface Tamed {
  /** Writes; what is shown again asks nothing. */
  write: (data: string, again: boolean) => void;
}

/** answers says whether this page, of all that look, is the one to answer what programs need to know. */
export function tame(term: Terminal, answers: () => boolean): Tamed {
  let again = false;
  const parser = term.parser;
  for (const code of outside) parser.registerOscHandler(code, swallow);
  for (const code of colours) parser.registerOscHandler(code, (data) => data.includes('?'));
  // Settings (DECRQSS), capabilities (XTGETTCAP), version, modes, window and the longer identities.
  for (const id of [{ intermediates: '$', final: 'q' }, { intermediates: '+', final: 'q' }]) parser.registerDcsHandler(id, swallow);
  for (const id of [
    { prefix: '>', final: 'c' }, { prefix: '=', final: 'c' }, { prefix: '>', final: 'q' }, { intermediates: '$', final: 'p' },
    { prefix: '?', intermediates: '$', final: 'p' }, { final: 't' }, { final: 'x' }, { intermediates: '*', final: 'y' },
  ]) parser.registerCsiHandler(id, swallow);
  // Who are you, how are you, where is the cursor: editors and shells wait for these.
  const unless = () => again || !answers();
  for (const id of [{ final: 'c' }, { final: 'n' }, { prefix: '?', final: 'n' }]) parser.registerCsiHandler(id, unless);
  return {
    write(data, shownAgain) {
      // Writing is queued; what was said about a piece must hold when it is read.
      if (shownAgain) term.write('', () => (again = true));
      term.write(data);
      if (shownAgain) term.write('', () => (again = false));
    },
  };
}

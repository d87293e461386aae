// The widget's looks. A page changes them by custom properties on `parley-room`, and by
// nothing else: the shadow keeps the page's own styles out.

export const style = `
:host { display: block; color-scheme: light dark; max-width: 100%;
  --bg: var(--parley-bg, light-dark(#fff, #17181c)); --ink: var(--parley-ink, light-dark(#1b1c20, #ececf0)); --soft: var(--parley-soft, light-dark(#f3f3f6, #24262c));
  --line: var(--parley-line, light-dark(#d6d7de, #3b3e47)); --accent: var(--parley-accent, light-dark(#3b4fd8, #9aa8ff)); --on-accent: var(--parley-on-accent, light-dark(#fff, #14151a));
  --warn: var(--parley-warn, light-dark(#8a4b00, #ffc271)); --quiet: light-dark(#5a5d68, #a5a8b3); }
:host([theme=light]) { color-scheme: light } :host([theme=dark]) { color-scheme: dark }
* { box-sizing: border-box; margin: 0; font: inherit; color: inherit }
.box { display: flex; flex-direction: column; width: var(--parley-width, 22rem); max-width: 100%; height: var(--parley-height, 30rem); background: var(--bg); color: var(--ink);
  font: 14px/1.45 var(--parley-font, system-ui, sans-serif); border: 1px solid var(--line); border-radius: var(--parley-radius, 12px); overflow: hidden }
header, form, .bar { display: flex; gap: .4rem; align-items: center; flex-wrap: wrap; padding: .5rem .7rem }
header { border-bottom: 1px solid var(--line) } h2 { font-size: 1rem; font-weight: 650; flex: 1; overflow-wrap: anywhere }
small, .quiet { color: var(--quiet); font-size: .86em } .warn { color: var(--warn) }
button, input { border: 1px solid var(--line); border-radius: 8px; background: var(--bg); padding: .35rem .6rem; min-height: 2rem }
button { cursor: pointer } button:hover { background: var(--soft) } button[aria-pressed=true], button.main { background: var(--accent); color: var(--on-accent); border-color: transparent }
button:disabled { opacity: .5; cursor: default } :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px }
input[type=text] { flex: 1; min-width: 6rem } .door { display: flex; flex-direction: column; gap: .6rem; padding: .8rem; overflow: auto }
.log { flex: 1; overflow: auto; padding: .6rem .7rem; display: flex; flex-direction: column; gap: .45rem; min-height: 5rem }
.log p { overflow-wrap: anywhere; white-space: pre-line } .mine { align-self: flex-end; background: var(--soft); padding: .25rem .6rem; border-radius: 10px }
.people { max-height: 45%; overflow: auto; border-bottom: 1px solid var(--line); padding: .3rem .7rem; list-style: none }
summary { cursor: pointer; padding: .2rem 0; overflow-wrap: anywhere } .badge { font-size: .8em; border: 1px solid var(--line); border-radius: 99px; padding: 0 .45em; margin-left: .3em; white-space: nowrap }
fieldset { border: 0; padding: .1rem 0 .5rem 1rem } label { display: flex; gap: .5rem; align-items: center; padding: .1rem 0 }
.stage { display: flex; gap: .4rem; flex-wrap: wrap; padding: .4rem .7rem } .stage:not(:has(:not([hidden]))) { display: none } .stage [hidden] { display: none } video { max-width: 100%; height: 7rem; background: #000; border-radius: 8px }
.bar { border-top: 1px solid var(--line) } form { border-top: 1px solid var(--line) }
`;

// The reference of the JavaScript SDK, made of its types and their comments:
//
//   node src/sdk/reference.mjs > ../docs/sdk/javascript.md

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const web = fileURLToPath(new URL('../..', import.meta.url));

export function reference() {
  const entry = join(web, 'src/sdk/roomagent.ts');
  const { config } = ts.readConfigFile(join(web, 'tsconfig.json'), (f) => readFileSync(f, 'utf8'));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, web);
  const program = ts.createProgram([entry], { ...options, types: [] });
  const checker = program.getTypeChecker();
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)))
    .map((s) => (s.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(s) : s));

  const brief = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;
  const clean = (text) => text.replaceAll(/import\("[^"]+"\)\./g, '').replaceAll(/<ArrayBuffer>|<ArrayBufferLike>/g, '');
  const says = (symbol) => ts.displayPartsToString(symbol.getDocumentationComment(checker)).replaceAll(/\s*\n\s*/g, ' ').trim();
  const typeOf = (symbol) => checker.getTypeOfSymbolAtLocation(symbol, symbol.valueDeclaration ?? symbol.declarations[0]);
  const signatures = (name, type) => type.getCallSignatures().map((s) => clean(name + checker.signatureToString(s, undefined, brief)));
  const hidden = (symbol) => symbol.name.startsWith('__#') || (symbol.declarations ?? []).some((d) => d.name?.kind === ts.SyntaxKind.PrivateIdentifier || ts.getCombinedModifierFlags(d) & ts.ModifierFlags.Private);

  function row(symbol) {
    const type = typeOf(symbol);
    const optional = symbol.flags & ts.SymbolFlags.Optional ? '?' : '';
    const calls = signatures(symbol.name + optional, checker.getNonNullableType(type));
    const text = calls.length ? calls.join('; ') : `${symbol.name}${optional}: ${clean(checker.typeToString(type, undefined, brief)).replace(/ \| undefined$/, optional ? '' : ' | undefined')}`;
    return `| \`${text.replaceAll('|', '\\|')}\` | ${says(symbol).replaceAll('|', '\\|')} |`;
  }

  function entryOf(symbol) {
    const lines = [`## ${symbol.name}`, ''];
    const about = says(symbol);
    if (about) lines.push(about, '');
    const { flags } = symbol;
    if (flags & ts.SymbolFlags.Function) {
      // A function that returns many calls of its own, such as an agent's, has a table of them.
      const made = typeOf(symbol).getCallSignatures()[0].getReturnType();
      const members = made.symbol?.name === '__object' ? made.getProperties().filter(ours) : [];
      const wide = members.length > 3;
      const shown = signatures(symbol.name, typeOf(symbol)).map((s) => (wide ? s.replace(/\): \{ .*$/, '): { … }') : s));
      return [...lines, '```ts', ...shown, '```', '', ...(wide ? ['| what it returns | |', '| --- | --- |', ...members.map(row), ''] : [])];
    }
    if (flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) {
      const members = checker.getDeclaredTypeOfSymbol(symbol).getProperties().filter((m) => !hidden(m) && ours(m));
      return [...lines, '| member | |', '| --- | --- |', ...members.map(row), ''];
    }
    if (flags & ts.SymbolFlags.TypeAlias) return [...lines, '```ts', `type ${symbol.name} = ${clean(checker.typeToString(checker.getDeclaredTypeOfSymbol(symbol), undefined, brief | ts.TypeFormatFlags.InTypeAlias))}`, '```', ''];
    return [...lines, '```ts', `${symbol.name}: ${clean(checker.typeToString(typeOf(symbol), undefined, brief))}`, '```', ''];
  }
  // What a language or a browser gives to everything is described elsewhere.
  const ours = (symbol) => (symbol.declarations ?? []).some((d) => d.getSourceFile().fileName.includes('/src/sdk/'));

  const order = (s) => (s.flags & ts.SymbolFlags.Function ? 0 : s.flags & ts.SymbolFlags.Class ? 1 : 2);
  const sorted = exported.sort((a, b) => order(a) - order(b) || a.name.localeCompare(b.name, 'en'));
  return [
    '# The JavaScript SDK, call by call', '',
    '<!-- made of the types by web/src/sdk/reference.mjs; a test compares -->', '',
    'How to get it and what to do with it: [embed.md](../embed.md). Functions first, then classes, then types.', '',
    ...sorted.flatMap(entryOf),
  ].join('\n').trimEnd() + '\n';
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(reference());

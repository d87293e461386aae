// Completes the npm package: its declarations name files as Node wants them named, and what
// else belongs to it is put beside them.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const to = 'dist/sdk/package/';
for (const name of readdirSync(to).filter((n) => n.endsWith('.d.ts'))) {
  const text = readFileSync(to + name, 'utf8').replace(/(from |import\()(['"])(\.\/[a-z]+)\2/g, '$1$2$3.js$2');
  writeFileSync(to + name, text);
}
for (const name of readdirSync('src/sdk/package')) copyFileSync('src/sdk/package/' + name, to + name);
copyFileSync('dist/sdk/roomagent.js', to + 'roomagent.js');

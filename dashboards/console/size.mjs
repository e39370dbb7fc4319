// Fails when the built pages are larger than the bound, packed: node size.mjs FOLDER
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const kMostBytes = 150_000;

const files = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });

const all = files(process.argv[2]);
if (!all.some((path) => path.endsWith('index.html'))) {
  console.error(`console: ${process.argv[2]} has no pages`);
  process.exit(1);
}
const bytes = all.reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0);
console.log(`console: ${bytes} bytes packed, at most ${kMostBytes}`);
if (bytes > kMostBytes) process.exit(1);

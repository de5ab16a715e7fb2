const { createHash } = require('node:crypto');
const { existsSync, readdirSync, readFileSync, statSync } = require('node:fs');
const { join } = require('node:path');

/** When the newest file of a folder was changed, in milliseconds. Pages do not count: nothing is built from them. */
exports.newest = function newest(dir) {
  let t = 0;
  for (const e of readdirSync(dir, { withFileTypes: true })) {
    if (e.name.endsWith('.md')) continue;
    const path = join(dir, e.name);
    t = Math.max(t, e.isDirectory() ? newest(path) : statSync(path).mtimeMs);
  }
  return t;
};

/** Every file that is built from, by its path from the folder above `src`: sources, and what says how they are compiled. */
function sources(root, dir = 'src') {
  const below = readdirSync(join(root, dir), { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? sources(root, join(dir, e.name)) : e.name.endsWith('.md') ? [] : [join(dir, e.name)],
  );
  const config = 'tsconfig.build.json';
  return dir === 'src' && existsSync(join(root, config)) ? [...below, config] : below;
}

/** Hash of everything that is built from. */
exports.sourceHash = function sourceHash(root) {
  const hash = createHash('sha256');
  for (const file of sources(root).sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
};

/**
 * Whether sources are others than those that the build was made of. Times alone do not tell: a clone or a checkout gives the same files
 * new ones.
 */
exports.isStale = function isStale(root) {
  const built = join(root, 'dist', '.built');
  const config = statSync(join(root, 'tsconfig.build.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (Math.max(exports.newest(join(root, 'src')), config) <= statSync(built).mtimeMs) return false;
  return readFileSync(built, 'utf8').trim() !== exports.sourceHash(root);
};

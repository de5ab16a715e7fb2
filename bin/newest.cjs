const { readdirSync, statSync } = require('node:fs');
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

// Where the server of this build and its clients find each other.
const { statSync } = require('node:fs');
const { join } = require('node:path');
const { cachedDataVersionTag } = require('node:v8');

/**
 * Names this build, this V8 and its flags: code compiled by one is refused by another, and a server answers for its own build alone.
 * @param bundle path of the script of the command line
 */
exports.buildOf = (bundle) => {
  const { ino, mtimeMs } = statSync(bundle);
  return [ino, Math.floor(mtimeMs), cachedDataVersionTag()].map((n) => n.toString(36)).join('-');
};

/** The user's folder for the server of a build: in the one that the system keeps for such things, or in that for temporary files. */
exports.serverFolder = (build) =>
  join(
    process.env.XDG_RUNTIME_DIR || process.env.TMPDIR || '/tmp',
    `orrery-${process.getuid?.() ?? 0}`,
    build,
  );

/** Name of the keeper's socket in that folder, and of the file that says what server it is. */
exports.KEEPER = 'keeper.sock';
exports.STATE = 'server.json';

/*
 * Finds out whether a command line from somebody else would have effects outside the folder in which it runs.
 */

/** Commands that stay in their folder: they read, compute, and write where an option says. */
const STAYING: ReadonlySet<string> = new Set([
  ...['opt', 'run', 'check', 'cfg', 'trace', 'bisect', 'reduce'],
  ...['plan', 'phases', 'order', 'recipes', 'rules', 'completion', 'help'],
  ...['measure', 'ab', 'diff', 'sweep', 'tune', 'merge', 'evaluate'],
]);

/** Effects of the other commands outside their folder. */
const OTHERS: Readonly<Record<string, string>> = {
  ptxas: 'ptxas starts the ptxas of this machine',
  toolkit: 'toolkit makes a folder of links, and asks nvcc',
  server: 'server leaves a process behind',
  explore: 'explore listens on a port',
};

/** Words that may stand in place of a command and run none. */
const NO_COMMANDS: ReadonlySet<string> = new Set(['-h', '--help', '-V', '--version']);

/** Options that start programs, in any command, or allow files to name others elsewhere. */
export const STARTING: Readonly<Record<string, string>> = {
  '--command': 'starts a program',
  '--solver': 'starts a program',
  '--ptxas': 'starts the ptxas of this machine',
  '--max-loss': 'starts the ptxas of this machine',
  '--allow-path': 'lets files name others elsewhere',
};

/** Number of parent folders that a word climbs, at any position in it. */
export const climbs = (word: string): number => word.split('..').length - 1;

/** Whether a word contains an absolute path: alone, after an option, or as part of an arm. */
const isFull = (word: string): boolean =>
  /(?:^|[^\p{L}\p{N}_.~@+%)}\]-])[/\\]|^-[A-Za-z]+[/\\]|(?:^|[^\w])[A-Za-z]:[\\/]/u.test(word);

/** A JSON text with its escapes decoded: a slash has many spellings. */
const unescaped = (json: string): string =>
  json.replace(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));

/**
 * Effects of a command outside its folder, one line each, for the user; empty if there are none. A command that is not known to stay counts
 * as leaving it.
 *
 * @param command words after `orrery`
 * @param input its standard input
 */
export function beyondFolder(command: readonly string[], input: string): string[] {
  const [name = ''] = command;
  const found: string[] = [];
  // Commander takes the word after `--` for the command.
  if (!STAYING.has(name) && !(command.length === 1 && NO_COMMANDS.has(name)))
    found.push(
      Object.hasOwn(OTHERS, name) ? OTHERS[name] : `'${name}' is not a command that stays in its folder`,
    );
  // Also with --rules: a run for one of these groups can name a shipped rule, and a word can be the value of another option.
  if (name === 'rules' && command.some((w) => /^--accept(=|$)/.test(w)))
    found.push('--accept states that rules hold, and stores that in orrery itself');
  for (const word of command) {
    const option = /^--[\w-]+/.exec(word)?.[0] ?? '';
    if (Object.hasOwn(STARTING, option)) found.push(`${option} ${STARTING[option]}`);
    if (isFull(word)) found.push(`'${word}' is outside of its folder`);
  }
  // Its lines are arms, which name files.
  if (name === 'evaluate' && [input, unescaped(input)].some((text) => isFull(text) || climbs(text) > 0))
    found.push('standard input names files outside its folder');
  return found;
}

/*
 * What a command line that comes from somebody else would do beyond the folder that it runs in.
 */

/** Commands that stay in their folder: they read, compute, and write where an option says. */
const STAYING: ReadonlySet<string> = new Set([
  ...['opt', 'run', 'check', 'cfg', 'trace', 'bisect', 'reduce'],
  ...['plan', 'phases', 'order', 'recipes', 'rules', 'completion', 'help'],
  ...['measure', 'ab', 'diff', 'sweep', 'tune', 'merge', 'evaluate'],
]);

/** What the others do. */
const OTHERS: Readonly<Record<string, string>> = {
  ptxas: 'ptxas starts the ptxas of this machine',
  toolkit: 'toolkit makes a folder of links, and asks nvcc',
  server: 'server leaves a process behind',
  explore: 'explore listens on a port',
};

/** What may stand in the place of a command, and runs none. */
const NO_COMMANDS: ReadonlySet<string> = new Set(['-h', '--help', '-V', '--version']);

/** Options that start programs, whatever their command, or let files name others elsewhere. */
export const STARTING: Readonly<Record<string, string>> = {
  '--command': 'starts a program',
  '--solver': 'starts a program',
  '--ptxas': 'starts the ptxas of this machine',
  '--max-loss': 'starts the ptxas of this machine',
  '--allow-path': 'lets files name others elsewhere',
};

/** Folders above its own that a word names, in whatever place. */
export const climbs = (word: string): number => word.split('..').length - 1;

/** Whether a word names something by a full path: alone, behind an option, or as a part of an arm. */
const isFull = (word: string): boolean =>
  /(?:^|[^\p{L}\p{N}_.~@+%)}\]-])[/\\]|^-[A-Za-z]+[/\\]|(?:^|[^\w])[A-Za-z]:[\\/]/u.test(word);

/** A text in JSON with what its escapes stand for: a slash has many spellings. */
const unescaped = (json: string): string =>
  json.replace(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));

/**
 * What a command does beyond its folder, each in a line for the user; nothing where it stays there. Whatever is not known to stay does
 * not.
 *
 * @param command words behind `orrery`
 * @param input its standard input
 */
export function beyondFolder(command: readonly string[], input: string): string[] {
  const [name = ''] = command;
  const found: string[] = [];
  // Commander takes the word behind `--` for the command.
  if (!STAYING.has(name) && !(command.length === 1 && NO_COMMANDS.has(name)))
    found.push(
      Object.hasOwn(OTHERS, name) ? OTHERS[name] : `'${name}' is no command that stays in its folder`,
    );
  if (name === 'rules' && command.includes('prove') && !command.some((w) => /^--rules(=|$)/.test(w)))
    found.push('rules prove, without --rules, writes verdicts into orrery itself');
  for (const word of command) {
    const option = /^--[\w-]+/.exec(word)?.[0] ?? '';
    if (Object.hasOwn(STARTING, option)) found.push(`${option} ${STARTING[option]}`);
    if (isFull(word)) found.push(`'${word}' is outside of its folder`);
  }
  // Its lines are arms, which name files.
  if (name === 'evaluate' && [input, unescaped(input)].some((text) => isFull(text) || climbs(text) > 0))
    found.push('standard input names what is outside of its folder');
  return found;
}

import type { Command } from 'commander';
import { loadShipped } from '../spec/node.ts';
import { MAX_LEVEL } from '../spec/specs.ts';
import { failWith, out } from './ui.ts';

/** What may follow an option. */
const AFTER: Readonly<Record<string, Kind>> = {
  '--recipe': 'recipes',
  '--sm': 'sms',
  '--order': 'orders',
  '--knobs': 'knobsets',
  '--set': 'knobs',
  '--disable': 'phases',
  '--start-at': 'phases',
  '--until': 'phases',
  '--print-after': 'phases',
  '--ftrace-phase-after': 'phases',
  '--phase': 'phases',
  '--measure': 'recipes',
  '--rules': 'rulegroups',
  '-O': 'levels',
  '--level': 'levels',
  '--nvopt': 'levels',
  '--category': 'categories',
  '--status': 'statuses',
};

type Kind =
  | 'recipes'
  | 'sms'
  | 'orders'
  | 'knobsets'
  | 'knobs'
  | 'phases'
  | 'rulegroups'
  | 'levels'
  | 'categories'
  | 'statuses';

const SHELLS = ['bash', 'zsh', 'fish'];

/**
 * `orrery completion SHELL`: a script that completes commands, options, and names of phases, knobs, recipes, knob sets, orders and targets.
 * The names are in the script, so that completing starts nothing. `--json` prints what such a script is made of.
 */
export async function completion(
  shell: string | undefined,
  o: { readonly json?: boolean },
  program: Command,
): Promise<void> {
  if (o.json === true) {
    if (shell !== undefined) failWith('--json goes with no shell', 'it prints data, not a script');
    const data = { version: 1, commands: commandsOf(program), after: AFTER, names: await names() };
    return out(JSON.stringify(data, null, 2));
  }
  if (shell === undefined) failWith('there is no shell', `shells are ${SHELLS.join(', ')}`);
  if (!SHELLS.includes(shell))
    failWith(`there is no completion for '${shell}'`, `shells are ${SHELLS.join(', ')}`);
  const words = await names();
  const commands = commandsOf(program);
  if (shell === 'fish') return out(fish(commands, words));
  out(`${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}${bash(commands, words)}`);
}

/** Commands, each with its options and commands of its own. */
interface Described {
  readonly name: string;
  readonly description: string;
  readonly options: readonly string[];
  readonly commands: readonly Described[];
}

const commandsOf = (c: Command): Described[] =>
  (c.commands as readonly Command[])
    .filter((x) => !(x as unknown as { _hidden: boolean })._hidden)
    .map((x) => ({
      name: x.name(),
      description: x.description(),
      options: x.options.flatMap((o) => [o.short, o.long].filter((w): w is string => typeof w === 'string')),
      commands: commandsOf(x),
    }));

async function names(): Promise<Record<Kind, string[]>> {
  const specs = await loadShipped();
  const rows = specs.phases.data.phases as readonly {
    readonly name: string;
    readonly category: string;
    readonly status: string;
  }[];
  const knobs = specs.knobs.data.knobs as Readonly<Record<string, { readonly aliases?: readonly string[] }>>;
  return {
    recipes: [...specs.recipes.keys()],
    sms: [...specs.backends.values()].flatMap((b) => (b.data.sm === undefined ? [] : [String(b.data.sm)])),
    orders: [...specs.orders.keys()],
    knobsets: [...specs.knobSets.keys()],
    knobs: Object.entries(knobs).flatMap(([n, k]) => [n, ...(k.aliases ?? [])]),
    phases: [...new Set(rows.map((r) => r.name))],
    rulegroups: [...(specs.rules?.keys() ?? [])],
    levels: Array.from({ length: MAX_LEVEL + 1 }, (_, i) => String(i)),
    categories: [...new Set(rows.map((r) => r.category))],
    statuses: [...new Set(rows.map((r) => r.status))],
  };
}

/** Commands of which a phase is an argument by itself. */
const PHASE_ARGUMENT: readonly string[] = ['order suggest', 'phases'];

function bash(commands: readonly Described[], words: Record<Kind, readonly string[]>): string {
  const cases = Object.entries(AFTER).map(
    ([o, kind]) => `    ${o}) words="$_orrery_${kind}"${kind === 'knobs' ? '; nospace=1' : ''} ;;`,
  );
  const flat = commands.flatMap((c) => [
    [c.name, c] as const,
    ...c.commands.map((s) => [`${c.name} ${s.name}`, s] as const),
  ]);
  return [
    '# Completion of orrery: source <(orrery completion bash), or write it to the folder of your shell.',
    ...Object.entries(words).map(([k, list]) => `_orrery_${k}='${list.join(' ')}'`),
    '_orrery() {',
    '  local cur prev cmd words="" nospace=""',
    '  COMPREPLY=()',
    '  cur="${COMP_WORDS[COMP_CWORD]}"; prev="${COMP_WORDS[COMP_CWORD-1]}"',
    '  cmd="${COMP_WORDS[1]}"',
    `  case "$cmd" in ${flat
      .filter(([n]) => n.includes(' '))
      .map(([n]) => n.split(' ')[0])
      .filter((n, i, l) => l.indexOf(n) === i)
      .join('|')}) [ "$COMP_CWORD" -gt 2 ] && cmd="$cmd \${COMP_WORDS[2]}" ;; esac`,
    '  case "$prev" in',
    ...cases,
    '  esac',
    '  if [ -z "$words" ]; then',
    '    if [ "$COMP_CWORD" -eq 1 ]; then',
    `      words="${commands.map((c) => c.name).join(' ')}"`,
    '    else case "$cmd" in',
    ...flat.map(([name, c]) => {
      const own = [...c.commands.map((s) => s.name), ...c.options];
      return `      '${name}') words="${own.join(' ')}"${PHASE_ARGUMENT.includes(name) ? '; words="$words $_orrery_phases"' : ''} ;;`;
    }),
    '    esac; fi',
    '  fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '  if [ -n "$nospace" ]; then COMPREPLY=("${COMPREPLY[@]/%/=}"); compopt -o nospace 2>/dev/null; fi',
    '}',
    'complete -o default -F _orrery orrery',
  ].join('\n');
}

function fish(commands: readonly Described[], words: Record<Kind, readonly string[]>): string {
  const quoted = (s: string) => `'${s.replaceAll("'", "\\'")}'`;
  const lines = ['# Completion of orrery: orrery completion fish > ~/.config/fish/completions/orrery.fish'];
  for (const c of commands) {
    lines.push(`complete -c orrery -n __fish_use_subcommand -a ${c.name} -d ${quoted(c.description)}`);
    const seen = `'__fish_seen_subcommand_from ${c.name}'`;
    for (const s of c.commands)
      lines.push(`complete -c orrery -n ${seen} -a ${s.name} -d ${quoted(s.description)}`);
    for (const o of [...new Set([...c.options, ...c.commands.flatMap((s) => s.options)])]) {
      const kind = AFTER[o];
      const values = kind === undefined ? '' : ` -x -a ${quoted(words[kind].join(' '))}`;
      lines.push(
        `complete -c orrery -n ${seen} ${o.startsWith('--') ? `-l ${o.slice(2)}` : `-s ${o.slice(1)}`}${values}`,
      );
    }
  }
  for (const c of PHASE_ARGUMENT)
    lines.push(
      `complete -c orrery -n '__fish_seen_subcommand_from ${c.split(' ').at(-1)}' -a ${quoted(words.phases.join(' '))}`,
    );
  return lines.join('\n');
}

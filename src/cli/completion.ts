import type { Command } from 'commander';
import { METRICS } from '../lab/metrics.ts';
import { loadShipped } from '../spec/node.ts';
import { MAX_LEVEL } from '../spec/specs.ts';
import { targetsOf } from '../spec/targets.ts';
import { failWith, out, outExactly } from './terminal/ui.ts';

/** Kind of word that follows an option. */
const AFTER: Readonly<Record<string, Kind>> = {
  '--recipe': 'recipes',
  '--sm': 'sms',
  '--order': 'orders',
  '--knobs': 'knobsets',
  '--set': 'knobs',
  '--disable': 'phases',
  '--no-phase': 'phases',
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
  '--rule': 'rules',
  '--group': 'rulegroups',
  '--metrics': 'metrics',
  '--by': 'metrics',
  '--rewrite-limit': 'phases',
};
/** Options whose word is a name followed by `=` and a value. */
const ASSIGNED: readonly string[] = ['--set', '--rewrite-limit'];
/** Options that take names separated by commas. */
const LISTED: readonly string[] = ['--metrics'];
/** Kind of word that is an argument of a command. */
const ARGUMENT: Readonly<Record<string, Kind>> = {
  'order suggest': 'phases',
  phases: 'phases',
  'rules show': 'rules',
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
  | 'statuses'
  | 'rules'
  | 'metrics';

const SHELLS = ['bash', 'zsh', 'fish'];

/**
 * `orrery completion SHELL`: prints a script that completes commands, options and their values: names of phases, knobs, recipes, rules,
 * metrics, targets, ... The names are in the script, so completion starts no process. `--json` prints the data of such a script.
 */
export async function completion(
  shell: string | undefined,
  o: { readonly json?: boolean },
  program: Command,
): Promise<void> {
  if (o.json === true) {
    if (shell !== undefined) failWith('--json takes no name of a shell', 'it prints data, not a script');
    const data = { version: 1, commands: commandsOf(program), after: AFTER, names: await names() };
    return out(JSON.stringify(data, null, 2));
  }
  if (shell === undefined) failWith('there is no shell', `shells are ${SHELLS.join(', ')}`);
  if (!SHELLS.includes(shell))
    failWith(`there is no completion for '${shell}'`, `shells are ${SHELLS.join(', ')}`);
  const words = await names();
  const commands = commandsOf(program);
  if (shell === 'fish') return outExactly(fish(commands, words));
  outExactly(
    `${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}${bash(commands, words)}`,
  );
}

/** A command with its options and subcommands. */
interface Described {
  readonly name: string;
  readonly description: string;
  readonly options: readonly string[];
  /** Words that may follow an option, by option. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  readonly commands: readonly Described[];
}

/** The alternatives in `<launch.yaml|auto>` that are words; none if the argument has only one kind. */
function valuesIn(flags: string): string[] {
  const kinds = /<([^>]*)>/.exec(flags)?.[1].split('|') ?? [];
  return kinds.length > 1 ? kinds.filter((k) => /^[\w-]+$/.test(k)) : [];
}

const commandsOf = (c: Command): Described[] =>
  (c.commands as readonly Command[])
    .filter((x) => !(x as unknown as { _hidden: boolean })._hidden)
    .map((x) => ({
      name: x.name(),
      description: x.description(),
      options: x.options.flatMap((o) => [o.short, o.long].filter((w): w is string => typeof w === 'string')),
      values: Object.fromEntries(
        x.options.flatMap((o): [string, string[]][] => {
          const name = o.long ?? '';
          const values = AFTER[name] === undefined ? valuesIn(o.flags) : [];
          return values.length === 0 ? [] : [[name, values]];
        }),
      ),
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
    sms: targetsOf(specs),
    orders: [...specs.orders.keys()],
    knobsets: [...specs.knobSets.keys()],
    knobs: Object.entries(knobs).flatMap(([n, k]) => [n, ...(k.aliases ?? [])]),
    phases: [...new Set(rows.map((r) => r.name))],
    rulegroups: [...(specs.rules?.keys() ?? [])],
    levels: Array.from({ length: MAX_LEVEL + 1 }, (_, i) => String(i)),
    categories: [...new Set(rows.map((r) => r.category))],
    statuses: [...new Set(rows.map((r) => r.status))],
    rules: [...(specs.rules?.values() ?? [])].flatMap((g) =>
      (g.data.rules as readonly { readonly id: string }[]).map((r) => r.id),
    ),
    metrics: METRICS.map((m) => m.name),
  };
}

/** Commands and subcommands, each with its full name and the arguments that it takes besides options. */
const flattened = (
  commands: readonly Described[],
  words: Record<Kind, readonly string[]>,
  above = '',
): { readonly name: string; readonly command: Described; readonly own: readonly string[] }[] =>
  commands.flatMap((command) => {
    const name = `${above}${command.name}`;
    const own = command.name === 'help' ? commands.map((c) => c.name) : (words[ARGUMENT[name]] ?? []);
    return [
      { name, command, own: [...command.commands.map((c) => c.name), ...own] },
      ...flattened(command.commands, words, `${name} `),
    ];
  });

function bash(commands: readonly Described[], words: Record<Kind, readonly string[]>): string {
  const cases = Object.entries(AFTER).map(([o, kind]) => {
    const how = ASSIGNED.includes(o) ? '; nospace=1' : LISTED.includes(o) ? '; list=1' : '';
    return `    ${o}) words="$_orrery_${kind}"${how} ;;`;
  });
  const flat = flattened(commands, words);
  const groups = commands.filter((c) => c.commands.length > 0).map((c) => c.name);
  return [
    '# Completion of orrery: source <(orrery completion bash), or write it to the folder of your shell.',
    ...Object.entries(words).map(([k, list]) => `_orrery_${k}='${list.join(' ')}'`),
    '_orrery() {',
    '  local cur prev cmd words="" nospace="" list=""',
    '  COMPREPLY=()',
    '  cur="${COMP_WORDS[COMP_CWORD]}"; prev="${COMP_WORDS[COMP_CWORD-1]}"',
    '  cmd="${COMP_WORDS[1]}"',
    `  case "$cmd" in ${groups.join('|')}) [ "$COMP_CWORD" -gt 2 ] && cmd="$cmd \${COMP_WORDS[2]}" ;; esac`,
    '  case "$prev" in',
    ...cases,
    '  esac',
    '  case "$cmd $prev" in',
    ...flat.flatMap(({ name, command }) =>
      Object.entries(command.values).map(([o, list]) => `    '${name} ${o}') words="${list.join(' ')}" ;;`),
    ),
    '  esac',
    '  if [ -z "$words" ]; then',
    '    if [ "$COMP_CWORD" -eq 1 ]; then',
    `      words="${commands.map((c) => c.name).join(' ')}"`,
    '    else case "$cmd" in',
    ...flat.map(({ name, command, own }) => {
      const kind = ARGUMENT[name];
      const all = [...(kind === undefined ? own : []), ...command.options].join(' ');
      return `      '${name}') words="${all}${kind === undefined ? '' : ` $_orrery_${kind}`}" ;;`;
    }),
    '    esac; fi',
    '  fi',
    '  case "$list$cur" in 1*,*) words="${cur%,*},${words// / ${cur%,*},}" ;; esac',
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
    const all = [c, ...c.commands];
    for (const o of [...new Set(all.flatMap((s) => s.options))]) {
      const kind = AFTER[o];
      const own = all.flatMap((s) => s.values[o] ?? []);
      // In addition to these words, the value may be a file.
      const values =
        kind !== undefined
          ? ` -x -a ${quoted(words[kind].join(' '))}`
          : own.length > 0
            ? ` -r -a ${quoted(own.join(' '))}`
            : '';
      lines.push(
        `complete -c orrery -n ${seen} ${o.startsWith('--') ? `-l ${o.slice(2)}` : `-s ${o.slice(1)}`}${values}`,
      );
    }
  }
  for (const { name, own, command } of flattened(commands, words))
    if (own.length > command.commands.length)
      lines.push(
        `complete -c orrery -n '__fish_seen_subcommand_from ${name.split(' ').at(-1)}' -a ${quoted(own.join(' '))}`,
      );
  return lines.join('\n');
}

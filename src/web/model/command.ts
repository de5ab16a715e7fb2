import { shellWord } from '../../ir/quote.ts';
import type { RunRow, Source } from '../recording.ts';

const nameOf = (file: string): string => file.replace(/^.*[\\/]/, '');

/** Words after `orrery` that reproduce what a page shows, if the kernel and the specs are files in the working folder. */
export function commandOf({ file, request, documents }: Source): readonly string[] {
  const spec = (name: string): string => (name in documents ? nameOf(name) : name);
  const each = (option: string, values: readonly string[]): string[] => values.flatMap((v) => [option, v]);
  return [
    'opt',
    // Prevents a file name from being taken for an option.
    nameOf(file).replace(/^-/, './-'),
    ...(request.level === null ? [] : [`-O${request.level}`]),
    ...(request.sm === null ? [] : ['--sm', request.sm]),
    ...(request.nvopt === undefined ? [] : ['--nvopt', String(request.nvopt)]),
    ...(request.order === 'binary' ? [] : ['--order', spec(request.order)]),
    ...each('--recipe', request.recipes.map(spec)),
    ...each('--knobs', request.knobSets.map(spec)),
    ...each('--set', request.set),
    ...each('--disable', request.disable),
    ...each('--rules', request.rules.map(spec)),
  ];
}

/** A command as a line for a shell. */
export const commandLine = (words: readonly string[]): string =>
  ['orrery', ...words].map(shellWord).join(' ');

/**
 * Everything that is needed to reproduce elsewhere what a page shows, in the format of the files that orrery writes on internal errors:
 * `orrery repro FILE --keep FOLDER` unpacks it and says how to run it.
 */
export function reproducerOf(run: RunRow, version: string): object {
  const { source, plan, knobs, phases } = run;
  const files = [[source.file, source.text], ...Object.entries(source.documents)];
  return {
    kind: 'reproducer',
    version: 1,
    orrery: version,
    node: '',
    command: commandOf(source),
    failure: {
      kind: 'shown in the explorer',
      text: 'nothing failed: this was shared from the explorer',
      phase: null,
      function: null,
      stack: [],
    },
    plan: {
      ...plan,
      options: source.request,
      knobs: Object.fromEntries(knobs.filter((k) => k.origin !== 'catalog').map((k) => [k.name, k.value])),
      phases: phases.filter((p) => p.ran).map((p) => p.id),
    },
    seed: null,
    stdin: null,
    files: files.map(([path, content]) => ({ path: nameOf(path), encoding: 'utf8', content })),
  };
}

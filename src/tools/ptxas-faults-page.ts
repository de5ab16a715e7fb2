// `node dist/tools/ptxas-faults-page.js`: writes pipelines/PTXAS-FAULTS.md, a page on the known faults of ptxas.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { targetsText } from '../cli/machine/faults.ts';
import { wrapped } from '../lab/render/table.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { loadLaunch } from '../spec/node-launch.ts';
import { FAULT_RULES, type PtxasFault, ptxasFaults } from '../spec/ptxas-faults.ts';
import type { Specs } from '../spec/specs.ts';
import type { RulesSpec } from '../spec/types.generated.ts';

/** Path of the page in the repository. */
export const PAGE = 'pipelines/PTXAS-FAULTS.md';

/** Width of the page in characters. */
const COLUMNS = 140;
const para = (text: string): string => wrapped(text, COLUMNS).join('\n');

/** The relevant instructions of a sample input, between its loads and its store. */
const shapeOf = (ptx: string): string =>
  ptx
    .split('\n')
    .filter((l) => /^ *[a-z].*%t\d/.test(l) || l.endsWith('// wrong'))
    .map((l) => l.trim().replace(/ *\/\/.*/, ''))
    .filter((l) => !/^(st|ld)\./.test(l))
    .join('\n');

async function section(f: PtxasFault, rules: readonly RulesSpec.Rule[]): Promise<string[]> {
  const { modulePath } = await loadLaunch(join(ROOT, f.input));
  const ptx = readFileSync(modulePath, 'utf8');
  const reported = f.ptxas.reported === undefined ? '' : `, reported of ${f.ptxas.reported.join(', ')}`;
  return [
    `## ${f.name}`,
    '',
    para(
      `${sentence(f.title)} Targets: ${targetsText(f)}, at ${f.levels.map((l) => `-O${l}`).join(', ')}. ` +
        `Seen in ptxas ${f.ptxas.seen.join(', ')}${reported}.`,
    ),
    '',
    '```',
    shapeOf(ptx),
    '```',
    '',
    `${/^\/\/ (.*)$/m.exec(ptx)?.[1] ?? ''}`,
    '',
    para(`What goes wrong: ${f.wrong}.`),
    '',
    para(`Instead: ${f.instead}.`),
    '',
    `Source: ${f.source}.`,
    '',
    ...(f.forms === undefined
      ? ['Shapes, and what is written for them:', '']
      : [
          'Forms, which stand for any modifiers at a star and are written as other instructions (@: with a guard):',
          '',
        ]),
    ...(f.rules ?? []).map((id) => `- ${rules.find((r) => r.id === id)?.title ?? id} (\`${id}\`)`),
    ...(f.forms ?? []).map((form) => `- \`${form}\``),
    '',
  ];
}

const sentence = (s: string): string => `${s[0].toUpperCase()}${s.slice(1)}.`;

/** The text of the page. */
export async function faultsPage(specs: Specs): Promise<string> {
  const group = specs.rules?.get(FAULT_RULES)?.data as unknown as RulesSpec.Rules | undefined;
  const rules = group?.rules ?? [];
  const sections: string[] = [];
  for (const f of ptxasFaults(specs.ptxasFaults)) sections.push(...(await section(f, rules)));
  return [
    '# Known faults of ptxas',
    '',
    'Made by `node dist/tools/ptxas-faults-page.js` from `ptxas-faults.yaml`; a test holds it current.',
    '',
    para(
      'Each is valid PTX of which ptxas makes code that computes something else. `orrery faults` lists them, and ' +
        '`orrery faults --ptxas` says which of them the ptxas that is installed has. `orrery check FILE.ptx` warns where a file ' +
        'holds a shape, for the target that it names. What `orrery opt --emit ptx`, `--ptxas` and `orrery ptxas` write is read ' +
        'back and holds none that is known: functions that do are written anew with the rewrites of group `ptxas-faults` ' +
        '(`rules/ptxas-faults.yaml`), which are proved like all rules. `--set KeepPtxasFaults` leaves PTX as it is.',
    ),
    '',
    'A shape is found where definitions are certain, in the form in which the PTX states it. ptxas may meet the same shape after its own',
    'simplifications, in other forms, and through other functions: that no warning is given is no proof that its code is right.',
    '',
    ...sections,
  ].join('\n');
}

if (/ptxas-faults-page\.[jt]s$/.test(process.argv[1] ?? ''))
  writeFileSync(join(ROOT, PAGE), await faultsPage(await loadShipped()));

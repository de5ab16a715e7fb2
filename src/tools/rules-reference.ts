// Writes pipelines/rules/REFERENCE.md: every shipped rule, by group, with its verdict.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bookFor } from '../cli/rules/rules.ts';
import { readVerdicts } from '../cli/rules/verdicts.ts';
import { verdictText } from '../rules/prove/verdict.ts';
import { ROOT } from '../spec/node.ts';
import { groupsOf } from '../spec/plan.ts';
import { FAULT_RULES } from '../spec/ptxas-faults.ts';

const { plan, specs, rules } = await bookFor({ sm: 'sm_80' });
const verdicts = readVerdicts();
const out = [
  '# All rules',
  '',
  'Made by `npm run rules-reference` from the files of this folder and the stored verdicts. How to read and write a rule: [README.md](README.md).',
  '',
];
const cell = (s: string): string => s.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (s: string): string =>
  `<code>${s.trim().replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '&#124;').replaceAll('\n', '<br>')}</code>`;
for (const [group, file] of specs.rules!) {
  const own = rules.filter((r) => r.group === group);
  const where = plan.phases.filter((p) => groupsOf(p).includes(group)).map((p) => p.id);
  const title = String((file.data as { title?: string }).title ?? '');
  const unbound =
    group === FAULT_RULES ? 'Runs over PTX that was written.' : 'No phase runs it unless asked.';
  out.push(`## ${group}`, '', `${title}. ${where.length > 0 ? `Runs in ${where.join(', ')}.` : unbound}`, '');
  out.push('| rule | | match | when | rewrite | verdict |', '|---|---|---|---|---|---|');
  for (const r of own) {
    const v = verdicts[r.id];
    const when = r.text.when === null ? '' : code(r.text.when);
    out.push(
      `| ${r.id} | ${cell(r.title)} | ${code(r.text.match)} | ${when} | ${code(r.text.rewrite)} | ${v === undefined ? 'none yet' : cell(verdictText(v))} |`,
    );
  }
  out.push('');
}
writeFileSync(join(ROOT, 'pipelines/rules/REFERENCE.md'), out.join('\n'));

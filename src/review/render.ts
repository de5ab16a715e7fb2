import { markdownBlock, markdownCode, markdownText } from '../ir/quote.ts';
import type { KernelPair } from '../lab/ab.ts';
import { abMarkdown } from '../lab/render/ab-markdown.ts';
import { abText } from '../lab/render/ab-text.ts';
import { statusLine } from '../lab/render/ab-words.ts';
import { abJson, OUTPUT_VERSION } from '../lab/render/json.ts';
import { type Paint, plural, WIDTH, wrapped } from '../lab/render/table.ts';
import { brokenText } from './budget.ts';
import type { Change } from './changes.ts';
import type { Review } from './review.ts';

/** The review in one line. */
export function reviewLine(r: Review): string {
  if (r.faults.length > 0) return `${plural(r.faults.length, 'error')}: the head gives no plan`;
  if (!r.differs) return 'no effect: every plan is the same';
  const alarms = r.changes.filter((c) => c.alarm).length;
  return [
    r.changes.length === 0 ? 'plans differ' : plural(r.changes.length, 'change'),
    ...(alarms > 0 ? [`${plural(alarms, 'ALARM')}`] : []),
    ...(r.broken.length > 0 ? [`${plural(r.broken.length, 'LIMIT')} broken`] : []),
    ...(r.kernels === null ? [] : [statusLine(r.kernels)]),
  ].join('; ');
}

/** Where a change applies: targets that have it at every level, levels at which every target has it, or both named. */
export function whereText(where: readonly string[], plans: readonly string[]): string {
  const main = (list: readonly string[]) => list.filter((w) => / -O\d$/.test(w));
  const here = main(where);
  const extra = where.filter((w) => !/ -O\d$/.test(w));
  if (here.length === 0) return extra.join(', ');
  const of = (list: readonly string[], part: 0 | 1) => [...new Set(list.map((w) => w.split(' ')[part]))];
  const all = main(plans);
  if (here.length === all.length) return 'everywhere';
  const [targets, levels] = [of(here, 0), of(here, 1)];
  if (here.length !== targets.length * levels.length)
    return `${here.length} of ${all.length} plans: ${here.slice(0, 4).join(', ')}, ...`;
  const short = levels.map((l) => l.slice(2)).join(', ');
  const t = targets.length === of(all, 0).length ? '' : targets.join(', ');
  const l = levels.length === of(all, 1).length ? '' : `-O${short}`;
  return [t, l].filter((x) => x !== '').join(' ');
}

const line = (c: Change): string =>
  `${c.kind === 'rules' ? 'rule' : c.kind === 'opcodes' ? 'opcode' : c.kind === 'recipe' ? '' : c.kind} ${c.name}: ${c.before} -> ${c.after}`.trim();

/** Where a change is stated; what the head has no more is marked as the base's. */
const statedAt = (c: Change): string => (c.basePlace === '' ? c.place : `at the base: ${c.basePlace}`);

/**
 * A review for a terminal.
 *
 * @param again as for `abText`
 */
export function reviewText(r: Review, paint: Paint, again: (k: KernelPair) => string): string {
  const out = [
    `${paint.bold('base')}  ${r.base}`,
    `${paint.bold('head')}  ${r.head}`,
    '',
    ...wrapped(reviewLine(r), WIDTH).map(r.faults.length > 0 ? paint.bad : paint.bold),
  ];
  for (const f of r.faults) out.push('', f.text);
  for (const b of r.broken) out.push('', paint.bad(brokenText(b)), `  ${paint.dim(b.place)}`);
  for (const c of r.changes) {
    const where = whereText(c.where, r.plans);
    out.push('', (c.alarm ? paint.bad : paint.bold)(line(c)));
    for (const l of c.note === '' ? [] : c.note.split('\n')) out.push(`  ${l}`);
    const at = [statedAt(c), where].filter((x) => x !== '').join(', ');
    if (at !== '') out.push(`  ${paint.dim(at)}`);
  }
  if (r.kernels !== null) out.push('', paint.bold('Effect on kernels'), '', abText(r.kernels, paint, again));
  return out.join('\n');
}

/** Why a change is noted, as an item of a list; what goes over several lines, as counterexamples do, is a block in it. */
function reason(c: Change): string[] {
  const [first, ...more] = c.note.split('\n');
  const item = `- ${markdownCode(c.name)}: ${markdownText([first, statedAt(c)].filter((x) => x !== '').join(' — '))}`;
  return more.length === 0 ? [item] : [item, '', ...markdownBlock(more.join('\n'), 'text', '  '), ''];
}

/** A review as a comment on a pull request: one status line, short tables, details folded. */
export function reviewMarkdown(r: Review): string {
  const out = [`**${markdownText(reviewLine(r))}**`, '', `${markdownCode(r.base)} → ${markdownCode(r.head)}`];
  for (const f of r.faults) out.push('', ...markdownBlock(f.text));
  if (r.broken.length > 0)
    out.push('', ...r.broken.map((b) => `- **${markdownText(brokenText(b))}** (${markdownText(b.place)})`));
  if (r.changes.length > 0) {
    out.push('', '| | what | before | after | where |', '|---|---|---|---|---|');
    for (const c of r.changes)
      out.push(
        `| ${c.alarm ? '**ALARM** ' : ''}${c.kind} | ${markdownCode(c.name)} | ${markdownText(c.before)} | ${markdownText(c.after)} | ${markdownText(whereText(c.where, r.plans))} |`,
      );
    const told = r.changes.filter((c) => c.note !== '' || statedAt(c) !== '');
    out.push('', '<details><summary>Reasons and places</summary>', '');
    for (const c of told) out.push(...reason(c));
    out.push('', '</details>');
    out.push(...bySm(r));
  }
  if (r.kernels !== null) out.push('', '### Effect on kernels', '', abMarkdown(r.kernels).trimEnd());
  return `${out.join('\n')}\n`;
}

/** Changes for some targets only, folded by target. */
function bySm(r: Review): string[] {
  const targets = [...new Set(r.plans.filter((p) => / -O\d$/.test(p)).map((p) => p.split(' ')[0]))];
  const some = r.changes.filter((c) => c.where.length > 0 && whereText(c.where, r.plans) !== 'everywhere');
  return targets.flatMap((sm) => {
    const own = some.filter((c) => c.where.some((w) => w.startsWith(`${sm} `)));
    if (own.length === 0) return [];
    const levels = (c: Change) =>
      c.where
        .filter((w) => w.startsWith(`${sm} `))
        .map((w) => w.split(' ')[1])
        .join(' ');
    return [
      '',
      `<details><summary>${sm}: ${plural(own.length, 'change')}</summary>`,
      '',
      ...own.map(
        (c) => `- ${markdownCode(c.name)}: ${markdownText(`${c.before} -> ${c.after}`)} (${levels(c)})`,
      ),
      '',
      '</details>',
    ];
  });
}

/** A review as plain data (schemas/output/diff.schema.json). */
export const reviewJson = (r: Review) => ({
  version: OUTPUT_VERSION,
  kind: 'diff',
  base: r.base,
  head: r.head,
  differs: r.differs,
  faults: r.faults.map((f) => f.text),
  limits: r.broken,
  plans: r.plans,
  changes: r.changes,
  kernels: r.kernels === null ? null : abJson(r.kernels),
});

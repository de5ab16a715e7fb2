import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runPipeline } from '../../engine/pipeline.ts';
import { grouped } from '../../ir/counts.ts';
import type { Program } from '../../ir/program.ts';
import { seeFound } from '../../lab/files.ts';
import { plural } from '../../lab/render/table.ts';
import { targetOf } from '../../read.ts';
import { ROOT, shownPath } from '../../spec/node.ts';
import { programFor, readText } from '../input/input.ts';
import { Progress } from '../terminal/progress.ts';
import { table } from '../terminal/table.ts';
import { CliExit, failWith, out, pc } from '../terminal/ui.ts';
import { Account, bookFor, phasesOf, type RuleOptions, WHY } from './rules.ts';

/** PTX files of a folder of kernels and its subfolders; those for the target, if there are any. */
function kernelFiles(dir: string, sm: string): string[] {
  if (!existsSync(dir)) failWith(`there is no folder ${dir}`);
  const found: string[] = [];
  const walk = (d: string, depth: number): void => {
    for (const e of readdirSync(d, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(d, e.name);
      if (e.isDirectory() && depth < 4) walk(path, depth + 1);
      else if (
        e.name.endsWith('.ptx') &&
        (!/\.sm_\d+\w*\.ptx$/.test(e.name) || e.name.endsWith(`.${sm}.ptx`))
      )
        found.push(path);
    }
  };
  walk(dir, 0);
  if (found.length === 0) failWith(`no PTX files in ${dir}`);
  for (const file of found) seeFound(dir, file);
  return found;
}

/** Prints rules whose shape does not occur: the number in each group, or their names. */
function printAbsent(rules: readonly { readonly id: string; readonly group: string }[], all: boolean): void {
  if (rules.length === 0) return;
  const by = new Map<string, string[]>();
  for (const r of rules) by.set(r.group, [...(by.get(r.group) ?? []), r.id]);
  out(
    `\n${pc.bold('their shape does not occur')}: ${plural(rules.length, 'rule')}${all ? '' : `, which --all names`}`,
  );
  for (const [group, ids] of by)
    if (all) for (const id of ids) out(`  ${id}`);
    else out(`  ${group} ${pc.dim(String(ids.length))}`);
}

/** `orrery rules coverage [FOLDER]`: prints which rules fire over a folder of kernels. */
export async function coverage(folder: string | undefined, o: RuleOptions): Promise<void> {
  const sm = o.sm ?? 'sm_80';
  const { plan, rules } = await bookFor({ ...o, sm });
  const dir = folder ?? join(ROOT, 'test', 'kernels');
  const files = kernelFiles(dir, sm);
  const account = new Account();
  const progress = new Progress();
  let before = 0;
  let after = 0;
  const size = (p: Program): number =>
    p.functions.reduce((n, f) => n + f.blocks.reduce((m, b) => m + b.ins.length, 0), 0);
  for (const [i, file] of files.entries()) {
    progress.of(i, files.length, shownPath(file));
    const text = readText(file);
    if (targetOf(text) === null) continue;
    const { program } = programFor(shownPath(file), text, plan);
    const { last } = runPipeline(program, plan, {
      onRuleHit: (h) => account.hit(h, file),
      onRuleMiss: (m) => account.miss(m),
    });
    before += size(program);
    after += size(last);
  }
  progress.done();
  const running = rules.filter((r) => phasesOf(plan, r.group).length > 0);
  const rows = running.map((r) => ({ r, t: account.byRule.get(r.id) }));
  const fired = rows.filter((x) => (x.t?.hits ?? 0) > 0).sort((a, b) => b.t!.hits - a.t!.hits);
  const never = rows.filter((x) => (x.t?.hits ?? 0) === 0);
  const nothing = fired.length === 0 && running.length > 0;
  if (o.json === true) {
    out(
      JSON.stringify(
        {
          files: files.length,
          instructions: { before, after },
          rules: rows.map(({ r, t }) => ({
            rule: r.id,
            group: r.group,
            hits: t?.hits ?? 0,
            undone: t?.undone ?? 0,
            kernels: t?.kernels.size ?? 0,
            misses: Object.fromEntries(t?.misses ?? []),
          })),
        },
        null,
        2,
      ),
    );
    if (nothing) throw new CliExit(1);
    return;
  }
  out(
    `${plural(files.length, 'file')}, ${grouped(before)} instructions, ${grouped(after)} after the plan (-O${plan.level} ${plan.sm}); ${fired.length} of ${running.length} rules fired\n`,
  );
  const head = ['rule', 'group', 'fired', 'files', 'undone'].map((h) => pc.bold(h));
  out(
    table(
      [
        head,
        ...fired.map(({ r, t }) => [
          r.id,
          r.group,
          grouped(t!.hits),
          String(t!.kernels.size),
          t!.undone === 0 ? '' : String(t!.undone),
        ]),
      ],
      'llrrr',
    ),
  );
  const missed = never.filter(({ t }) => t !== undefined && t.misses.size > 0);
  if (missed.length > 0) {
    out(`\n${pc.bold('never fired here, though their shape occurs')}`);
    out(
      table(
        missed.map(({ r, t }) => [
          `  ${r.id}`,
          [...t!.misses].map(([why, n]) => `${n} x ${WHY[why] ?? why}`).join('; '),
        ]),
        'll',
      ),
    );
  }
  printAbsent(
    never.filter((x) => !missed.includes(x)).map(({ r }) => r),
    o.all === true,
  );
  const idle = rules.filter((r) => phasesOf(plan, r.group).length === 0);
  if (idle.length > 0)
    out(
      `\n${idle.length} rules are in groups that no phase of the plan runs: ${[...new Set(idle.map((r) => r.group))].join(', ')}`,
    );
  if (nothing) throw new CliExit(1);
}

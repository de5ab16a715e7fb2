import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { nearest } from '../ir/diagnostic.ts';
import { prove } from '../rules/prove/prove.ts';
import { printVerdicts, type Verdict, type Verdicts, verdictText } from '../rules/prove/verdict.ts';
import type { Rule } from '../rules/rule.ts';
import { shownPath } from '../spec/node.ts';
import type { PlanOptions } from './options.ts';
import { bookFor } from './rules.ts';
import { openSolver } from './solver.ts';
import { CliExit, duration, failWith, out, Progress, pc } from './ui.ts';
import { keepForeign, readVerdicts, VERDICTS } from './verdicts.ts';

interface ProveCommand extends PlanOptions {
  readonly rule?: string;
  readonly group?: string;
  readonly solver?: string;
  readonly all?: boolean;
  readonly json?: boolean;
}

/**
 * `orrery rules prove`: asks a solver about every rule whose verdict is missing or about another text, and stores what it
 * says of shipped rules. Rules of files named with --rules are proved, and not stored.
 */
export async function proveRules(o: ProveCommand): Promise<void> {
  const { rules, shipped, specs } = await bookFor(o);
  // A file may stand in for a shipped group: what is known about the group's own rules stays.
  const kept = shipped.size === specs.rules?.size ? {} : readVerdicts();
  const wanted = rules.filter(
    (r) => (o.rule === undefined || r.id === o.rule) && (o.group === undefined || r.group === o.group),
  );
  if (wanted.length === 0) {
    const word = o.rule ?? o.group ?? '';
    const near = nearest(
      word,
      rules.map((r) => (o.rule !== undefined ? r.id : r.group)),
    );
    failWith(
      `there is no rule${o.rule === undefined ? ' group' : ''} '${word}'`,
      near.length > 0 ? `did you mean '${near[0]}'?` : '`orrery rules list` names them',
    );
  }
  const stored = readVerdicts();
  // By rule, not by id: a rule of a file may have the id of a shipped one.
  const found = new Map<Rule, Verdict>();
  const asked = wanted.filter((r) => o.all === true || o.rule !== undefined || stored[r.id]?.hash !== r.hash);
  for (const r of wanted) if (!asked.includes(r)) found.set(r, stored[r.id]);
  const began = performance.now();
  if (asked.length > 0) {
    const { solve, close } = openSolver(o.solver);
    const progress = new Progress();
    try {
      for (const [i, r] of asked.entries()) {
        progress.update(`${i + 1}/${asked.length} ${r.id}`);
        found.set(r, await prove(r, solve));
        // What was asked is kept if the rest is cut short.
        if (i % 16 === 15) save(rules, shipped, stored, found, kept);
      }
    } catch (e) {
      failWith(
        (e as Error).message,
        "the solver has to read SMT-LIB 2 from its standard input: --solver 'z3 -in'",
      );
    } finally {
      progress.done();
      close();
      save(rules, shipped, stored, found, kept);
      keepForeign(found, shipped);
    }
  }
  report(
    wanted,
    found,
    asked.length,
    performance.now() - began,
    wanted.some((r) => shipped.has(r.group)),
    o,
  );
  if ([...found.values()].some((v) => v.verdict === 'refuted')) throw new CliExit(1);
}

/** Writes the verdicts of shipped rules; rules that are gone go with it. Nothing is written where nothing changed. */
function save(
  rules: readonly Rule[],
  shipped: ReadonlySet<string>,
  stored: Verdicts,
  found: ReadonlyMap<Rule, Verdict>,
  kept: Verdicts,
): void {
  const next: Record<string, Verdict & { hash: string }> = { ...kept };
  for (const r of rules) {
    if (!shipped.has(r.group)) continue;
    const v = found.get(r);
    const old = stored[r.id];
    if (v !== undefined) next[r.id] = { ...v, hash: r.hash };
    else if (old !== undefined) next[r.id] = old;
  }
  const text = printVerdicts(next);
  if (existsSync(VERDICTS) && readFileSync(VERDICTS, 'utf8') === text) return;
  writeFileSync(`${VERDICTS}.new`, text);
  renameSync(`${VERDICTS}.new`, VERDICTS);
}

function report(
  wanted: readonly Rule[],
  found: ReadonlyMap<Rule, Verdict>,
  asked: number,
  ms: number,
  stored: boolean,
  o: ProveCommand,
): void {
  if (o.json === true) {
    const data = wanted.map((r) => ({ rule: r.id, group: r.group, hash: r.hash, ...found.get(r) }));
    out(JSON.stringify(data, null, 2));
    return;
  }
  const counts = new Map<string, number>();
  for (const v of found.values()) counts.set(v.verdict, (counts.get(v.verdict) ?? 0) + 1);
  for (const r of wanted) {
    const v = found.get(r);
    if (v === undefined || (v.verdict === 'verified' && o.rule === undefined)) continue;
    const paint = v.verdict === 'refuted' ? pc.red : v.verdict === 'verified' ? pc.green : pc.yellow;
    out(`${pc.bold(r.id)}  ${r.title}\n  ${paint(verdictText(v))}`);
    if (v.verdict === 'refuted')
      out(
        v.counterexample
          .split('\n')
          .map((l) => `  ${l}`)
          .join('\n'),
      );
  }
  const total = [...counts].map(([k, n]) => `${n} ${k}`).join(', ');
  out(
    `${wanted.length} rule${wanted.length === 1 ? '' : 's'}: ${total}; ${asked} asked in ${duration(ms)}${stored ? `, verdicts in ${shownPath(VERDICTS)}` : ''}`,
  );
}

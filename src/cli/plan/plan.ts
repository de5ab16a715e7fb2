import { wrapped } from '../../lab/render/table.ts';
import { lineOf } from '../../spec/node.ts';
import type { Origin, Plan, PlanPhase, ResolvedKnob } from '../../spec/plan.ts';
import { planFor, sourceOf } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { table, tableAbove } from '../terminal/table.ts';
import { failWith, out, pc, tableColumns } from '../terminal/ui.ts';
import { type PhasesOptions, phaseJson, printPhases, workOf } from './phases.ts';
import { printRecipes, printVariants, textOf } from './plan-recipes.ts';

/** `orrery phases`: prints the table, or everything that is known about the named phases. */
export async function phases(names: readonly string[], o: PlanOptions & PhasesOptions): Promise<void> {
  const p = await planFor(o, null);
  if (names.length === 0) return printPhases(p, o);
  if (o.status !== undefined || o.category !== undefined)
    failWith('--status and --category choose rows of the table, and phases are named here');
  const { specs } = await sourceOf(o, p);
  await (await import('./phase-card.ts')).printPhase(p, specs, names, o.json === true);
}

/** `file:line` of an origin. */
async function where(o: Origin): Promise<string> {
  if (o.file === '') return o.source;
  try {
    return `${o.source} (${o.file}:${await lineOf(o)})`;
  } catch {
    return `${o.source} (${o.file})`;
  }
}

/** `orrery plan`: prints the resolved plan. */
export async function plan(
  o: PlanOptions & { json?: boolean; all?: boolean; diff?: string | true },
): Promise<void> {
  const p = await planFor(o, null);
  if (o.diff !== undefined) return (await import('./plan-diff.ts')).planDiff(p, o, o.diff);
  const shown = [...p.knobs.values()].filter((k) => o.all === true || k.overridden.length > 0);
  if (o.json === true) {
    out(
      JSON.stringify(
        {
          hash: p.hash,
          level: p.level,
          sm: p.sm,
          order: p.order,
          recipe: p.recipe,
          recipes: p.recipes.map((r) => ({ ...r, when: r.tests.map((t) => p.tests[t].text) })),
          nvopt: p.nvopt,
          settings: p.settings,
          variants: p.cases.map((c) => variantJson(p, p.variant(c), textOf(p, c))),
          knobSet: p.knobSet,
          backend: p.backend.facts,
          phases: p.phases.map(phaseJson),
          knobs: shown.map((k) => ({
            name: k.name,
            index: k.index,
            type: k.type,
            value: k.value,
            when: k.when,
            unread: k.unread,
            origin: k.origin,
            overridden: k.overridden,
          })),
          warnings: p.warnings,
        },
        null,
        2,
      ),
    );
    return;
  }
  await summary(p);
  await printRecipes(p, where);
  if (shown.length > 0) {
    const from = await Promise.all(shown.map((k) => where(k.origin)));
    const overs = await Promise.all(shown.map(overText));
    out('');
    out(
      table(
        [
          ['knob', '#', 'type', 'value', 'from', 'over'].map((h) => pc.bold(h)),
          ...shown.map((k, i) => [
            k.name,
            k.index === null ? '' : String(k.index),
            k.type,
            valueText(k),
            from[i],
            overs[i],
          ]),
        ],
        'lrllll',
      ),
    );
  }
  await printVariants(p, where);
}

/** Differences of the plan for functions with a given test result from the plan of the others. */
const variantJson = (p: Plan, v: Plan, when: string) => ({
  when,
  hash: v.hash,
  level: v.level,
  settings: v.settings,
  knobs: [...v.knobs.values()].filter((k) => k.when !== null),
  phases: v.phases
    .filter((x, i) => JSON.stringify(phaseJson(x)) !== JSON.stringify(phaseJson(p.phases[i])))
    .map(phaseJson),
});

/** Values that were overridden: those of recipes and knob sets with their locations, since somebody wrote them there. */
async function overText(k: ResolvedKnob): Promise<string> {
  const texts = k.overridden.map(async (x) =>
    ['recipe', 'knob-set'].includes(x.origin.source)
      ? `${text(x.value)} from ${await where(x.origin)}`
      : `${text(x.value)} (${x.origin.source})`,
  );
  return (await Promise.all(texts)).join(', ');
}

/** A value as it is written in a spec, and the kernels that it applies to. */
function valueText(k: ResolvedKnob): string {
  const range = k.type === 'IRNG' && Array.isArray(k.value) ? (k.value as readonly number[]) : null;
  const end = (n: number) => (Math.abs(n) === Number.MAX_SAFE_INTEGER ? '' : String(n));
  const shown = range === null ? text(k.value) : `${end(range[0])}..${end(range[1])}`;
  const where = k.when === null ? shown : `${shown} for ${k.when}`;
  return k.unread ? `${where} ${pc.dim('(unread)')}` : where;
}

const text = (v: unknown): string => (v === null ? pc.dim('unset') : JSON.stringify(v));

/** Maximum number of phases that are named per reason; `orrery phases` and --json have all. */
const MOST_NAMED = 12;

/** Minimum terminal width at which steps and location fit next to a phase. */
const WIDE = 140;
/** Indentation of these otherwise: the width of the position column. */
const BELOW = 5;

const listed = (ids: readonly string[]): string =>
  ids.length <= MOST_NAMED
    ? ids.join(', ')
    : `${ids.slice(0, MOST_NAMED).join(', ')} and ${ids.length - MOST_NAMED} others`;

async function summary(p: Plan): Promise<void> {
  const live = p.phases.filter((x) => x.disabled === null && x.steps.length > 0);
  const recipe = p.recipe === null ? '' : `, recipe ${p.recipe}`;
  const knobs = p.knobSet === null ? '' : `, knobs ${p.knobSet}`;
  const title = `plan ${p.hash}: -O${p.level} ${p.sm} (${p.backend.class}), order ${p.order}${recipe}${knobs}`;
  out(wrapped(title, tableColumns()).join('\n  ').replace(p.hash, pc.bold(p.hash)));
  out(`${p.phases.length} phases, ${live.length} with something bound and not switched off:\n`);
  const places = await Promise.all(live.map((x) => where(x.origin)));
  const state = (x: PlanPhase): string => {
    const { levels } = x.gate;
    return levels !== null && !levels.includes(p.level) ? pc.dim(`not at -O${p.level}`) : '';
  };
  const columns = tableColumns();
  const head = (names: readonly string[]) => names.map((h) => pc.bold(h));
  if (columns < WIDE) {
    const rows = live.map((x) => [String(x.position), x.id, state(x)]);
    const below = live.map((x, i) => `${workOf(x)}; ${places[i]}`);
    out(tableAbove([head(['pos', 'phase', '']), ...rows], 'rll', below, BELOW, columns));
  } else {
    const rows = live.map((x, i) => [String(x.position), x.id, workOf(x), places[i], state(x)]);
    out(table([head(['pos', 'phase', 'runs', 'place', '']), ...rows], 'rllll', columns));
  }
  const off = p.phases.filter((x) => x.disabled !== null);
  const reasons = new Map<string, string[]>();
  for (const x of off) reasons.set(x.disabled!.why, [...(reasons.get(x.disabled!.why) ?? []), x.id]);
  if (off.length > 0) out('');
  for (const [why, ids] of reasons)
    out(wrapped(`switched off, ${why}: ${listed(ids)}`, tableColumns()).join('\n  '));
}

import type { Origin, Plan, Setting } from '../../spec/plan.ts';
import { table } from '../terminal/table.ts';
import { out, pc } from '../terminal/ui.ts';
import { stepsText } from './phases.ts';

/** Renders the origin of a value. */
type Where = (o: Origin) => Promise<string>;

/**
 * Prints the recipes of a plan and their settings besides knobs, with the values that each overrides; nothing for a plan without recipes.
 */
export async function printRecipes(p: Plan, where: Where): Promise<void> {
  if (p.recipes.length > 0) {
    out(`\n${pc.bold('recipes')}, later ones win${p.nvopt === null ? '' : `; NvOpt level ${p.nvopt}`}:`);
    const places = await Promise.all(p.recipes.map((r) => where(r.origin)));
    out(
      table(
        p.recipes.map((r, i) => [
          `  ${r.name}`,
          places[i],
          r.tests.length === 0 ? 'all functions' : `functions: ${textOf(p, r.tests)}`,
        ]),
        'lll',
      ),
    );
  }
  await printSettings(p.settings, where);
}

async function printSettings(settings: readonly Setting[], where: Where): Promise<void> {
  if (settings.length === 0) return;
  const rows = await Promise.all(
    settings.map(async (s) => [
      s.what,
      s.name,
      valueText(s.what, s.value),
      await where(s.origin),
      (
        await Promise.all(
          s.overridden.map(async (o) => `${valueText(s.what, o.value)} from ${await where(o.origin)}`),
        )
      ).join(', '),
    ]),
  );
  out('');
  out(table([['setting', 'phase', 'value', 'from', 'over'].map((h) => pc.bold(h)), ...rows], 'lllll'));
}

const valueText = (what: Setting['what'], value: unknown): string =>
  what === 'hook' ? stepsText(value) : String(value);

/** The functions to which a case of a plan applies, as text. */
export const textOf = (p: Plan, tests: readonly number[]): string =>
  tests.map((t) => p.tests[t].text).join(', ');

/** Prints the settings that differ for the functions of each case of the plan. */
export async function printVariants(p: Plan, where: Where): Promise<void> {
  for (const tests of p.cases) {
    const v = p.variant(tests);
    const settingsBefore = new Set(p.settings.map((s) => JSON.stringify(s)));
    const settings = v.settings.filter((s) => !settingsBefore.has(JSON.stringify(s)));
    const knobs = [...v.knobs.values()].filter((k) => k.when !== null);
    out(`\n${pc.bold(`functions: ${textOf(p, tests)}`)}`);
    await printSettings(settings, where);
    for (const k of knobs)
      out(
        `  knob ${k.name} = ${JSON.stringify(k.value)}, ${await where(k.origin)}, over ${JSON.stringify(k.overridden.at(-1)?.value)}`,
      );
    if (settings.length === 0 && knobs.length === 0) out(pc.dim('  nothing more'));
  }
}

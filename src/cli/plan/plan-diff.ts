import { counted } from '../../ir/counts.ts';
import { foldedRounds } from '../../lab/folded-rounds.ts';
import { placedDifferences } from '../../lab/plan-differences.ts';
import { differenceText } from '../../lab/render/ab-words.ts';
import { OUTPUT_VERSION } from '../../lab/render/json.ts';
import { wrapped } from '../../lab/render/table.ts';
import { Places } from '../../review/places.ts';
import type { Plan } from '../../spec/plan.ts';
import { DEFAULT_ORDER, type Specs } from '../../spec/specs.ts';
import { planFor, sourceOf } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { out, pc, tableColumns } from '../terminal/ui.ts';

/** The order that an order extends; the default one if it extends none. */
const extendedBy = (specs: Specs, order: string): string =>
  String(specs.orders.get(order)?.data.extends ?? DEFAULT_ORDER);

/**
 * `orrery plan --diff [BASE]`: differences between the plan and the plan of an order alone.
 *
 * @param against the order, by name or file; true: the order that the order of the plan extends, or the default one
 */
export async function planDiff(
  plan: Plan,
  o: PlanOptions & { readonly json?: boolean },
  against: string | true,
): Promise<void> {
  const { specs } = await sourceOf(o, plan);
  const order = against === true ? extendedBy(specs, o.order ?? DEFAULT_ORDER) : against;
  const baseOptions: PlanOptions = { level: o.level, sm: plan.sm, order };
  const base = await planFor(baseOptions, null, undefined, true);
  const { specs: baseSpecs } = await sourceOf(baseOptions, base);
  const places = new Places(baseSpecs, specs);
  const found = foldedRounds(placedDifferences(base, plan)).map((d) => ({
    ...d.difference,
    ...places.ofDifference(d),
  }));
  if (o.json === true)
    return out(
      JSON.stringify(
        {
          version: OUTPUT_VERSION,
          kind: 'plan-diff',
          base: { order: base.order, hash: base.hash },
          plan: { order: plan.order, hash: plan.hash },
          differences: found,
        },
        null,
        2,
      ),
    );
  out(
    `plan ${pc.bold(plan.hash)} against order ${pc.bold(base.order)} alone, -O${plan.level} ${plan.sm}: ${
      found.length === 0 ? 'no difference' : counted(found.length, 'difference')
    }`,
  );
  const width = tableColumns();
  for (const d of found) {
    out(`\n${wrapped(differenceText(d), width - 2).join('\n  ')}`);
    const at = d.place !== '' ? d.place : d.basePlace;
    if (at !== '') out(pc.dim(`  ${at}`));
  }
}

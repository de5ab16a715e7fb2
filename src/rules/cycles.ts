import { printFn } from '../ir/text.ts';
import {
  instructionLines,
  MOST_INSTANCES,
  options,
  type Report,
  type Setting,
  spread,
} from './check-context.ts';
import { RulesDiverge } from './driver.ts';
import type { Rule } from './rule.ts';
import { witness } from './witness.ts';

/**
 * Applies the set to an example of each rule's pattern, and reports rules that undo one another.
 * @returns the rules on whose example the set does not terminate
 */
export function checkCycles(rules: readonly Rule[], set: Setting, report: Report): ReadonlySet<Rule> {
  const cyclic = new Set<Rule>();
  for (const r of rules)
    for (const i of spread(r.instances, MOST_INSTANCES)) {
      const w = witness(r, i, set.isa);
      if (w === null) continue;
      const fired: string[] = [];
      try {
        set.settle(w.fn, set.matcher, set.isa, options({ onHit: (x) => fired.push(x.id) }));
      } catch (e) {
        if (!(e instanceof RulesDiverge)) throw e;
        const loop = cycleOf(fired);
        if (!cyclic.has(r) && loop.includes(r.id))
          report(
            r,
            'rewrite',
            'rule-cycle',
            `the rules undo one another: ${[...loop, loop[0]].join(' -> ')}`,
            ['starting from:', ...instructionLines(printFn(w.fn, { locs: false }))],
          );
        cyclic.add(r);
        break;
      }
    }
  return cyclic;
}

/** The shortest sequence that occurs twice in succession at the end; the last eight elements if there is none. */
function cycleOf(fired: readonly string[]): string[] {
  for (let n = 1; n <= fired.length / 2; n++) {
    const last = fired.slice(-n);
    if (last.every((x, i) => x === fired[fired.length - 2 * n + i])) return last;
  }
  return fired.slice(-8);
}

import type { Isa } from '../ir/opcode.ts';
import type { IsReported, Report, Setting, Settle } from './check-context.ts';
import { type Costs, costsOf } from './cost.ts';
import { checkCycles } from './cycles.ts';
import { byPrecedence } from './engine.ts';
import { Matcher } from './matcher.ts';
import { checkOverlaps } from './overlaps.ts';
import type { Rule, RuleIssue } from './rule.ts';
import { checkShadows } from './shadows.ts';

/**
 * Checks rules that run together: duplicate ids, rules that never fire because an earlier rule always matches first, overlapping rules
 * without a stated precedence, rewrites that cost more than they remove, and rules that undo one another.
 *
 * @param rules in the order of groups and files
 * @param settle runs a set until no rule fires
 * @param wanted groups whose faults are reported; the other groups only run together with them
 * @returns the faults, all of them errors
 */
export function checkSet(
  rules: readonly Rule[],
  isa: Isa,
  costs: Costs,
  settle: Settle,
  wanted: ReadonlySet<string> = new Set(rules.map((r) => r.group)),
): RuleIssue[] {
  const issues: RuleIssue[] = [];
  const report = (
    rule: Rule,
    field: RuleIssue['field'],
    code: string,
    message: string,
    notes: readonly string[] = [],
    severity: RuleIssue['severity'] = 'error',
  ): void => {
    issues.push({ severity, code, group: rule.group, rule: rule.place, field, message, notes });
  };
  const isReported: IsReported = (r) => wanted.has(r.group);
  checkIds(rules, isReported, report);
  checkCosts(rules.filter(isReported), costs, report);
  const ordered = byPrecedence(rules);
  checkShadows(ordered, isReported, report);
  const order: Setting = { isa, matcher: Matcher.of(ordered, isa), settle };
  const cyclic = checkCycles(ordered.filter(isReported), order, report);
  checkOverlaps(ordered, order, isReported, cyclic, report);
  return issues;
}

function checkIds(rules: readonly Rule[], isReported: IsReported, report: Report): void {
  const seen = new Map<string, Rule>();
  for (const r of rules) {
    const other = seen.get(r.id);
    if (other !== undefined && isReported(r))
      report(r, 'id', 'rule-id', `rule id '${r.id}' is taken by a rule of group '${other.group}'`);
    seen.set(r.id, r);
  }
}

function checkCosts(rules: readonly Rule[], costs: Costs, report: Report): void {
  for (const r of rules) {
    if (r.cost !== null) continue;
    for (const i of r.instances) {
      const { left, right } = costsOf(r, i, costs);
      if (right <= left) continue;
      report(
        r,
        'rewrite',
        'rule-cost',
        `the rewrite costs ${right} cycles but is certain to remove only ${left}`,
        [
          `for ${r.match.map((l, k) => (l.op === null ? '*' : `${l.op.name} (modifiers ${i.match[k]})`)).join(', ')}`,
          "require 'uses(t) == 1' of inner results that die with the root, or state the saving in 'cost'",
        ],
      );
      break;
    }
  }
}

/** A known fault of ptxas, as listed in `pipelines/ptxas-faults.yaml`: the affected code, and the rules that find and avoid it. */

import { didYouMean } from '../ir/diagnostic.ts';
import { covers } from '../ir/glob.ts';
import { baseTarget } from '../ir/target.ts';
import type { SpecFile } from './document.ts';
import type { SpecIssue } from './issues.ts';
import type { Specs } from './specs.ts';
import { targetsOf } from './targets.ts';
import type { PtxasFaultsSpec, RulesSpec } from './types.generated.ts';

export type PtxasFault = PtxasFaultsSpec.Fault;

/** The knob that keeps PTX as written even where ptxas would miscompile it. */
export const KEEP_FAULTS = 'KeepPtxasFaults';
/** The group of the rules that find and avoid faults of ptxas. */
export const FAULT_RULES = 'ptxas-faults';
/** The level of ptxas that is assumed if it is not known how ptxas will be run: its default (ptxas 13.0.88, --help). */
export const PTXAS_LEVEL = 3;

/** The faults of a document, in order; empty if there is no document. */
export const ptxasFaults = (spec: SpecFile | undefined): readonly PtxasFault[] =>
  (spec?.data as unknown as PtxasFaultsSpec.PtxasFaults | undefined)?.faults ?? [];

/**
 * True if ptxas has the fault for a target at a level.
 * @param sm such as `sm_90` or `sm_90a`; the variants of a target share its faults
 */
export const hasFault = (f: PtxasFault, sm: string, level: number): boolean =>
  f.levels.includes(level) && (f.targets === 'all' || f.targets.includes(baseTarget(sm)));

/** A PTX instruction, as far as forms of faults match it. */
export interface Spelled {
  /** Opcode with its modifiers, such as `set.lt.f32.f32`. */
  readonly text: string;
  readonly guarded: boolean;
}

/** Maximum number of patterns that the braces of a form may stand for. */
const MOST_PATTERNS = 100;

/** The patterns without braces that a form stands for; null if its braces do not pair up, or stand for more than `MOST_PATTERNS`. */
function patternsOf(form: string): readonly string[] | null {
  let found = [''];
  for (const [part, list] of form.matchAll(/\{([^{}]*)\}|[{}|]|[^{}|]+/g)) {
    if (/^[{}|]$/.test(part)) return null;
    const choices = list?.split('|') ?? [part];
    if (found.length * choices.length > MOST_PATTERNS) return null;
    found = found.flatMap((f) => choices.map((c) => f + c));
  }
  return found;
}

/**
 * A predicate that is true for instructions that match a form. One with a fault, which `ptxasFaultIssues` reports, matches none.
 *
 * @param form such as `@ set.*.{u32|s32}.u16`: `@ ` requires a guard, a star matches any text, and braces list alternatives
 */
export function formMatcher(form: string): (i: Spelled) => boolean {
  const guarded = form.startsWith('@ ');
  const patterns = patternsOf(form.slice(guarded ? 2 : 0)) ?? [];
  return (i) => (i.guarded || !guarded) && patterns.some((p) => covers(p, i.text));
}

/**
 * Checks the list of ptxas faults against the other specs: duplicate fault names, rules that do not exist or belong to another fault
 * already, targets without a back end, and rules of the group that no fault names.
 */
export function ptxasFaultIssues(spec: SpecFile, specs: Specs): SpecIssue[] {
  const group = specs.rules?.get(FAULT_RULES);
  const ids = ((group?.data as unknown as RulesSpec.Rules | undefined)?.rules ?? []).map((r) => r.id);
  const targets = targetsOf(specs);
  const names = new Set<string>();
  const owners = new Map<string, string>();
  const issues: SpecIssue[] = [];
  const say = (
    path: SpecIssue['path'],
    code: string,
    message: string,
    notes: readonly string[] = [],
  ): void => {
    issues.push({ severity: 'error', code, file: spec, path: ['faults', ...path], message, notes });
  };
  ptxasFaults(spec).forEach((f, at) => {
    if (names.has(f.name)) say([at, 'name'], 'fault-twice', `there is a fault '${f.name}' above`);
    names.add(f.name);
    (f.forms ?? []).forEach((form, n) => {
      if (patternsOf(form) === null)
        say([at, 'forms', n], 'fault-form', `the braces of '${form}' do not pair up, or list too much`, [
          `a form is such as set.*.{u32|s32}, and stands for at most ${MOST_PATTERNS} patterns`,
        ]);
    });
    (f.rules ?? []).forEach((id, n) => {
      const owner = owners.get(id);
      if (!ids.includes(id))
        say(
          [at, 'rules', n],
          'fault-rule',
          `group '${FAULT_RULES}' has no rule '${id}'`,
          didYouMean(id, ids),
        );
      else if (owner !== undefined)
        say([at, 'rules', n], 'fault-rule', `rule '${id}' is of fault '${owner}' already`);
      owners.set(id, owner ?? f.name);
    });
    if (f.targets !== 'all')
      f.targets.forEach((t, n) => {
        if (!targets.includes(t))
          say([at, 'targets', n], 'fault-target', `there is no back end for '${t}'`, didYouMean(t, targets));
      });
  });
  const idle = ids.filter((id) => !owners.has(id));
  if (idle.length > 0)
    issues.push({
      severity: 'error',
      code: 'fault-rule',
      file: spec,
      path: ['faults'],
      key: true,
      message: `no fault names ${idle.length === 1 ? 'rule' : 'rules'} ${idle.map((id) => `'${id}'`).join(', ')} of group '${FAULT_RULES}'`,
      notes: ['such a rule would do nothing'],
    });
  return issues;
}

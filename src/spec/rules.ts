import { memo } from '../ir/memo.ts';
import type { Isa } from '../ir/opcode.ts';
import type { GroupDoc } from '../rules/document.ts';
import { hashOfSpec } from './collect.ts';
import type { SpecFile } from './document.ts';
import type { Row } from './entries.ts';
import type { Host } from './host.ts';
import { COMMAND_LINE, type Issues, type Spot } from './issues.ts';
import { flatSteps, groupsOf, type Plan, type PlanPhase, type ResolvedKnob } from './plan.ts';
import type { PlanRequest, Specs } from './specs.ts';
import type { RulesSpec } from './types.generated.ts';

const KNOB_READ = /\bknob\(\s*(\w+)\s*\)/g;

const docOf = (specs: Specs, group: string): RulesSpec.Rules | undefined =>
  specs.rules?.get(group)?.data as RulesSpec.Rules | undefined;

const knobsIn = (text: string | undefined): string[] =>
  [...(text ?? '').matchAll(KNOB_READ)].map((m) => m[1]);

/** Knobs that the conditions of a document's rules read, each with the phases that alone run the rule; null: all that run the group. */
const knobsReadBy = memo(
  (doc: RulesSpec.Rules): readonly { readonly knob: string; readonly owner: readonly string[] | null }[] => [
    ...knobsIn(doc.when).map((knob) => ({ knob, owner: null })),
    ...doc.rules.flatMap((r) => knobsIn(r.when).map((knob) => ({ knob, owner: r.owner ?? null }))),
  ],
);

/** Knobs that the conditions of a group's rules read in a phase; null: one that runs all rules, whoever owns them. */
function knobsOfGroup(specs: Specs, group: string, phase: string | null): readonly string[] {
  const doc = docOf(specs, group);
  if (doc === undefined) return [];
  return knobsReadBy(doc)
    .filter(({ owner }) => owner === null || phase === null || owner.includes(phase))
    .map(({ knob }) => knob);
}

/**
 * Look-ups for building phases: the knobs that rule groups read, and the groups that a request adds to a row.
 *
 * @param ruleKnobs knobs that the rule engine reads for any group
 */
export function rulesFor(
  specs: Specs,
  request: PlanRequest,
  ruleKnobs: readonly string[],
  issues: Issues,
): {
  group: (name: string, phase: string | null) => readonly string[];
  extra: (row: Row, runsRules: boolean) => readonly string[];
} {
  const added: { name: string; owner: readonly string[] | undefined }[] = [];
  for (const n of request.rules ?? []) {
    const file = specs.rules?.get(n);
    if (file === undefined)
      issues.unknown(
        COMMAND_LINE,
        'unknown-rules',
        `there is no rule group '${n}'`,
        n,
        specs.rules?.keys() ?? [],
        '`orrery rules list` names the groups; a file is given by its path',
      );
    else {
      const doc = file.data as unknown as RulesSpec.Rules;
      added.push({ name: doc.group, owner: doc.owner });
    }
  }
  return {
    group: (group, phase) => [...ruleKnobs, ...knobsOfGroup(specs, group, phase)],
    extra: (row, runsRules) =>
      added
        // Required phases run rules for legalization. They run even if all optimizations are off, so no other rules may join them.
        .filter((a) =>
          a.owner === undefined ? runsRules && row.required !== true : a.owner.includes(row.name),
        )
        .map((a) => a.name),
  };
}

/**
 * Reports unknown groups, phases that run a group without owning it, phases that run inexact rules unasked, and knobs in conditions that
 * are not in the catalog.
 */
export function checkRules(
  specs: Specs,
  phases: readonly PlanPhase[],
  origins: readonly Spot[],
  knobs: ReadonlySet<string>,
  asked: ReadonlySet<string>,
  issues: Issues,
): void {
  const checked = new Set<string>();
  /** Where a phase names a group: in its row, or else where the order places the phase. */
  const namedAt = (p: PlanPhase, group: string, order: Spot): Spot => {
    for (const s of flatSteps(p.steps)) {
      const at = s.kind === 'rules' && s.origin.source === 'phases' ? s.groups.indexOf(group) : -1;
      if (at >= 0) return { file: specs.phases, path: [...s.origin.path, 'rules', at] };
    }
    return order;
  };
  phases.forEach((p, i) => {
    for (const group of groupsOf(p)) {
      const file = specs.rules?.get(group);
      if (file === undefined) {
        // Names in orders and hooks have been checked already, so only rows of the phase table remain.
        if (issues.list.some((x) => x.code === 'unknown-rules')) continue;
        issues.unknown(
          namedAt(p, group, origins[i]),
          'unknown-rules',
          `phase '${p.id}' runs rule group '${group}', which is not there`,
          group,
          specs.rules?.keys() ?? [],
          '`orrery rules list` names the groups',
        );
        continue;
      }
      const doc = file.data as unknown as RulesSpec.Rules;
      if (doc.owner !== undefined && p.hook === null && p.index !== null && !doc.owner.includes(p.name))
        issues.error(
          namedAt(p, group, origins[i]),
          'rules-owner',
          `phase '${p.id}' runs rule group '${group}', which it does not own`,
          {
            notes: [`owners are ${doc.owner.join(', ')}; a hook or an inserted step may run any group`],
            see: { what: 'the group', file, path: ['owner'] },
          },
        );
      if (checked.has(group)) continue;
      checked.add(group);
      if (p.hook === null && p.index !== null && !asked.has(group) && !(doc.when ?? '').match(KNOB_READ))
        doc.rules.forEach((r, k) => {
          if (r.inexact !== undefined)
            issues.error(
              namedAt(p, group, origins[i]),
              'rules-inexact',
              `phase '${p.id}' runs rule group '${group}', whose rule '${r.id}' changes results: ${r.inexact}`,
              {
                notes: ["give the group a switch ('when: knob(Name)'), or run it from a recipe's hook"],
                see: { what: 'the rule', file, path: ['rules', k, 'inexact'] },
              },
            );
        });
      const conditions: [string, (string | number)[], string | undefined][] = [
        [`group '${group}'`, ['when'], doc.when],
        ...doc.rules.map((r, k): (typeof conditions)[number] => [
          `rule '${r.id}'`,
          ['rules', k, 'when'],
          r.when,
        ]),
      ];
      for (const [who, path, when] of conditions)
        for (const m of (when ?? '').matchAll(KNOB_READ))
          if (!knobs.has(m[1]))
            issues.unknown(
              { file, path },
              'unknown-knob',
              `${who} reads knob '${m[1]}', which is not in the catalog`,
              m[1],
              knobs,
              '`orrery plan --knobs` lists those that are set',
            );
    }
  });
}

/**
 * Checks rules from files that are not part of the build. A rule that evaluation refutes is an error or a warning, as `request.wrongRules`
 * says.
 */
export function checkForeignRules(
  specs: Specs,
  rules: Plan['rules'],
  request: PlanRequest,
  isa: Isa,
  host: Host,
  issues: Issues,
): void {
  for (const [group, doc] of rules) {
    const file = specs.rules?.get(group);
    if (file === undefined || file.built?.data === file.data) continue;
    checkTables(file, doc.data as RulesSpec.Rules, isa, issues);
    if (request.wrongRules === 'run' || host.refuteRules === undefined) continue;
    const wrong = host.refuteRules(doc.data, isa);
    for (const f of wrong) {
      const spot = { file, path: ['rules', f.rule, f.field] };
      if (request.wrongRules === 'warn')
        issues.warning(spot, f.code, f.message, { notes: ['it runs because rules are forced'] });
      else
        issues.error(spot, f.code, f.message, { notes: [...f.notes, '--force-rules runs it all the same'] });
    }
  }
}

/** Reports values in modifier tables of rules that no opcode has: such an entry would never match, and nobody would notice. */
function checkTables(file: SpecFile, { tables = {} }: RulesSpec.Rules, isa: Isa, issues: Issues): void {
  let known: Set<string> | null = null;
  for (const [name, table] of Object.entries(tables))
    for (const [from, to] of Object.entries(table)) {
      known ??= new Set(isa.opcodes.flatMap((op) => [...op.modByName.keys()]));
      for (const value of [from, to])
        if (!known.has(value))
          issues.unknown(
            { file, path: ['tables', name, from] },
            'unknown-modifier',
            `table '${name}' has the value '${value}', which no opcode has as a modifier`,
            value,
            known,
            'pipelines/isa has the opcodes with their modifiers',
          );
    }
}

/** Warns about a requested group that does nothing because no knob in its condition is set. */
export function warnRulesOff(
  specs: Specs,
  request: PlanRequest,
  knobs: ReadonlyMap<string, ResolvedKnob>,
  issues: Issues,
): void {
  const off = (k: ResolvedKnob | undefined): boolean =>
    k === undefined || [k.value, k.when === null ? null : k.overridden.at(-1)?.value].every((v) => !v);
  for (const group of request.rules ?? []) {
    const when = docOf(specs, group)?.when;
    const read = [...(when ?? '').matchAll(KNOB_READ)].map((m) => m[1]);
    if (read.length > 0 && read.every((k) => off(knobs.get(k))))
      issues.warning(COMMAND_LINE, 'rules-off', `rule group '${group}' has a switch, which is off: ${when}`, {
        subject: group,
        notes: [`turn it on with --set ${read[0]}`],
      });
  }
}

/** The documents of the groups that phases of a plan run, by name. */
export function rulesOf(specs: Specs, phases: readonly PlanPhase[]): Plan['rules'] {
  const out: Map<string, GroupDoc> = new Map();
  for (const p of phases)
    for (const group of groupsOf(p)) {
      const file = specs.rules?.get(group);
      if (file === undefined || out.has(group)) continue;
      out.set(group, groupDocOf(file));
    }
  return out;
}

/** The document of a rule group with its hash and, if the build checked it, its automaton. */
export function groupDocOf(f: SpecFile): GroupDoc {
  const { data, file, built } = f;
  const { wholeFor = null, automaton = null } = (built?.data === data ? built.rules : undefined) ?? {};
  return { data, file, hash: hashOfSpec(f), wholeFor, automaton };
}

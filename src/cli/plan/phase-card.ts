import { conditionsOf, conditionText } from '../../spec/gates.ts';
import { lineOf } from '../../spec/node.ts';
import { type Plan, type PlanPhase, roundsText, type Step } from '../../spec/plan.ts';
import type { Specs } from '../../spec/specs.ts';
import type { ConstraintsSpec, KnobsSpec, PhasesSpec } from '../../spec/types.generated.ts';
import { placeOf } from '../input/watch.ts';
import { out, pc, USUAL_COLUMNS } from '../terminal/ui.ts';
import { phaseJson, wrapped } from './phases.ts';

/** Width of the label column. */
const LABEL = 12;

/** A phase of a plan with its entries in the specs. */
interface PhaseEntry {
  readonly phase: PlanPhase;
  readonly row: PhasesSpec.Phase;
  /** `file:line` of its row. */
  readonly place: string;
  readonly constraints: readonly ConstraintsSpec.Constraint[];
}

/** `orrery phases PHASE...`: prints everything that the specs say about phases: what runs, when, what is read and what is required. */
export async function printPhase(
  plan: Plan,
  specs: Specs,
  names: readonly string[],
  json: boolean,
): Promise<void> {
  const entries: PhaseEntry[] = [];
  for (const name of names) entries.push(await entryOf(plan, specs, plan.phases[placeOf(plan, name)]));
  if (json)
    return out(
      JSON.stringify(
        entries.map(({ phase, row, place, constraints }) => ({
          ...phaseJson(phase),
          purpose: row.purpose,
          source: row.source,
          place,
          constraints,
        })),
        null,
        2,
      ),
    );
  out(entries.map((t) => card(plan, specs, t)).join('\n\n'));
}

async function entryOf(plan: Plan, specs: Specs, phase: PlanPhase): Promise<PhaseEntry> {
  const rows = specs.phases.data.phases as readonly PhasesSpec.Phase[];
  const at = rows.findIndex((r) => r.name === phase.name);
  const line = await lineOf({ file: specs.phases.file, path: ['phases', at] });
  const all = specs.constraints.data.constraints as readonly ConstraintsSpec.Constraint[];
  const inOrder = new Set(plan.phases.map((p) => p.name));
  return {
    phase,
    row: rows[at],
    place: `${specs.phases.file}:${line}`,
    constraints: all.filter(
      (c) => [c.before, c.after].includes(phase.name) && inOrder.has(c.before) && inOrder.has(c.after),
    ),
  };
}

function card(plan: Plan, specs: Specs, { phase: p, row, place, constraints }: PhaseEntry): string {
  const numbers = [
    `position ${p.position} of order '${plan.order}'`,
    ...(p.index === null ? [] : [`seed number ${p.index}`]),
    ...(p.hook === null ? [] : [`hook ${p.hook}`]),
    ...(p.noOp ? ['isNoOp'] : []),
  ];
  const rows = specs.knobs.data.knobs as Readonly<Record<string, KnobsSpec.Knob>>;
  const knob = (name: string): string => {
    const known = plan.knobs.get(name);
    const value = known?.value ?? null;
    const unread = known?.unread === true ? ' (nothing reads it yet)' : '';
    return `${name} = ${value === null ? 'unset' : String(value)}${unread}: ${rows[name].effect}`;
  };
  const room = (process.stdout.columns || USUAL_COLUMNS) - LABEL;
  const lines = (what: string, list: readonly string[]): string[] =>
    list
      .flatMap((l) => wrapped(l, room).split('\n'))
      .map((l, i) => `${(i === 0 ? `  ${what}` : '').padEnd(LABEL)}${l}`);
  const why = constraints.map((c) => c.why);
  const texts = [row.purpose, ...p.knobs.map((name) => rows[name].effect), ...why, p.statusNote];
  const off = p.disabled === null ? [] : [pc.yellow(`off: ${p.disabled.why}`)];
  return [
    wrapped(`${p.id}  ${numbers.join(', ')}; ${p.category}, ${p.status}`, room + LABEL)
      .replace(p.id, () => pc.bold(p.id))
      .replaceAll('\n', `\n${' '.repeat(LABEL)}`),
    ...lines('purpose', [row.purpose]),
    ...lines('runs', p.steps.length === 0 ? ['nothing'] : p.steps.flatMap(stepLines)),
    ...lines('when', [...off, ...conditionsOf(p.gate).map(conditionText)]),
    ...lines('knobs', p.knobs.map(knob)),
    ...lines('facts', p.facts.length === 0 ? [] : [p.facts.join(', ')]),
    ...lines('requires', p.requires.length === 0 ? [] : [p.requires.join(', ')]),
    ...lines('provides', p.provides.length === 0 ? [] : [p.provides.join(', ')]),
    ...lines('destroys', p.destroys.length === 0 ? [] : [p.destroys.join(', ')]),
    ...lines(
      'behind',
      constraints.filter((c) => c.after === p.name).map((c) => `${c.before}: ${c.why}`),
    ),
    ...lines(
      'before',
      constraints.filter((c) => c.before === p.name).map((c) => `${c.after}: ${c.why}`),
    ),
    ...lines('note', p.statusNote === '' ? [] : [p.statusNote]),
    ...lines('idle', row.idle === undefined ? [] : [`no test kernel is better by it: ${row.idle}`]),
    ...lines('numbers', numbersIn(texts, plan)),
    ...lines('source', row.source === undefined ? [] : [row.source]),
    ...lines('row', [place]),
  ].join('\n');
}

/** Numbers of phases in prose: `phase 29`, `rows 31, 37 and 81`. */
const IN_PROSE = /\b(?:phases?|rows?) (\d+(?:(?:, | and | to )\d+)*)/g;

/** The phases behind the (seed) numbers in texts. */
function numbersIn(texts: readonly string[], plan: Plan): string[] {
  const mentioned = texts.flatMap((t) =>
    [...t.matchAll(IN_PROSE)].flatMap((m) => m[1].match(/\d+/g)!.map(Number)),
  );
  const named = [...new Set(mentioned)]
    .sort((a, b) => a - b)
    .flatMap((n) => {
      const p = plan.phases.find((x) => x.index === n);
      return p === undefined ? [] : [`${n} is ${p.id} (position ${p.position})`];
    });
  return named.length === 0 ? [] : [`of the seed: ${named.join(', ')}`];
}

/** A step with its parameters; for repeated steps, each of them. */
function stepLines(s: Step): string[] {
  if (s.kind === 'rules') return [`rules ${s.groups.join(', ')}`];
  if (s.kind === 'repeat')
    return [`up to ${roundsText(s)} times:`, ...s.steps.flatMap(stepLines).map((l) => `- ${l}`)];
  const params = Object.entries(s.params).map(([k, v]) => `${k} ${v}`);
  return [`${s.pass}${params.length === 0 ? '' : `: ${params.join(', ')}`}`];
}

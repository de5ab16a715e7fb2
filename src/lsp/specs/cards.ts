import { memo } from '../../ir/memo.ts';
import { isFact } from '../../spec/backend.ts';
import type { Specs } from '../../spec/specs.ts';
import type { ConstraintsSpec, PhasesSpec } from '../../spec/types.generated.ts';
import { escaped } from '../document.ts';
import { type Category, isaOf, knobCalled, knobsOf, namesOf, rowsOf, valueText } from '../names.ts';
import { dataAt } from './places.ts';

/** A line of a card: what, and the texts; none if there are none. */
const line = (what: string, list: readonly string[]): string[] =>
  list.length === 0 ? [] : [`- **${what}**: ${list.map(escaped).join(', ')}`];

const lines = (what: string, list: readonly string[]): string[] =>
  list.map((text) => `- **${what}** ${escaped(text)}`);

/** Everything that specs say about a name, as Markdown; undefined if there is no such name. */
export function cardOf(specs: Specs, category: Category, name: string): string | undefined {
  if (category === 'phase' || category === 'hook') return phaseCard(specs, name);
  if (category === 'knob') return knobCard(specs, name);
  if (category === 'opcode') return opcodeCard(specs, name);
  if (category === 'fact') return factCard(specs, name);
  if (category === 'group') return groupCard(specs, name);
  const found = namesOf(specs)[category].find((n) => n.name === name);
  return found === undefined ? undefined : `**${escaped(name)}** (${category})\n\n${escaped(found.about)}`;
}

const rowNamed = (specs: Specs, id: string): PhasesSpec.Phase | undefined => {
  const name = id.replace(/#\d+$/, '').toLowerCase();
  return rowsOf(specs).find((p) => p.name.toLowerCase() === name);
};

/** The names of the passes and rule groups of steps, with repetitions. */
function stepTexts(list: readonly PhasesSpec.Step[] = []): string[] {
  return list.flatMap((s) => [
    ...(s.pass === undefined ? [] : [s.pass]),
    ...(s.rules ?? []).map((g) => `rules ${g}`),
    ...(s.use === undefined ? [] : [`steps ${s.use}`]),
    ...(s.repeat === undefined ? [] : [`up to ${s.rounds} times (${stepTexts(s.repeat).join(', ')})`]),
  ]);
}

/** What a gate tests, each part as it stands in the row. */
const gateTexts = (gate: PhasesSpec.Gate | undefined): string[] =>
  Object.entries(gate ?? {})
    .filter(([key]) => key !== 'order')
    .map(([key, v]) => `${key} ${JSON.stringify(v).replace(/"/g, '')}`);

/** The card of a phase, as `orrery phases PHASE` has it, without what depends on a plan. */
function phaseCard(specs: Specs, id: string): string | undefined {
  const row = rowNamed(specs, id);
  if (row === undefined) return undefined;
  const all = specs.constraints.data.constraints as readonly ConstraintsSpec.Constraint[];
  const knobs = knobsOf(specs);
  const number = row.index === null ? [] : [`seed number ${row.index}`];
  return [
    `**${row.name}** ${[...number, row.category, row.status].join(', ')}`,
    '',
    escaped(row.purpose),
    '',
    ...line('runs', stepTexts(row.steps)),
    ...line('when', gateTexts(row.gate)),
    ...lines(
      'knob',
      (row.knobs ?? []).map((k) => `${k}: ${knobs[k]?.effect ?? ''}`),
    ),
    ...line('requires', row.requires ?? []),
    ...line('provides', row.provides ?? []),
    ...line('destroys', row.destroys ?? []),
    ...lines(
      'after',
      all.filter((c) => c.after === row.name).map((c) => `${c.before}: ${c.why}`),
    ),
    ...lines(
      'before',
      all.filter((c) => c.before === row.name).map((c) => `${c.after}: ${c.why}`),
    ),
    ...(row.required === true ? ['- required: it cannot be switched off or dropped'] : []),
    ...line('note', row.note === undefined ? [] : [row.note]),
  ].join('\n');
}

/** The card of a knob: type, default, range, effect, and which phases read it. */
function knobCard(specs: Specs, word: string): string | undefined {
  const name = knobCalled(specs, word);
  if (name === undefined) return undefined;
  const k = knobsOf(specs)[name];
  // Passes read knobs that no row of the table names; rows read some that the catalog gives no reader.
  const inRows = rowsOf(specs).filter((p) => (p.knobs ?? []).includes(name));
  const readers = new Set([...(k.readers ?? []), ...inRows.map((p) => p.name)]);
  const range =
    k.range === undefined ? [] : [k.range.map((x) => (x === null ? 'open' : String(x))).join(' to ')];
  return [
    `**${name}** ${k.type}, default ${escaped(valueText(k.default))}`,
    '',
    escaped(k.effect),
    '',
    ...line('range', range),
    ...line('also called', k.aliases ?? []),
    ...line('read by', [...readers]),
    ...(k.unread === true ? ['- nothing reads it yet'] : []),
    ...(k.inexact === true ? ['- results may differ from those of the hardware'] : []),
    ...line('source', k.source === undefined ? [] : [k.source]),
  ].join('\n');
}

/** The card of an Ori opcode: what it does, its operands and its meaning. */
export function opcodeCard(specs: Specs, name: string): string | undefined {
  const [base] = name.split('.');
  const op = isaOf(specs).byName.get(base);
  if (op === undefined) return undefined;
  const row = oriRows(specs).get(base) as { form?: string; means?: string; unit?: string } | undefined;
  const means = row?.means?.trim();
  return [
    `**${base}** ${escaped(op.title)}`,
    '',
    ...(row?.form === undefined ? [] : ['```', row.form, '```']),
    ...op.groups.map((g) => `- **${escaped(g.name)}**: ${g.values.map((v) => escaped(v.name)).join(', ')}`),
    ...line('unit', row?.unit === undefined ? [] : [row.unit]),
    ...(means === undefined || means === '' ? [] : ['', 'Meaning:', '```', means, '```']),
  ].join('\n');
}

/** Rows of opcodes by name. */
const oriRows = memo((specs: Specs): ReadonlyMap<string, unknown> => {
  const all = specs.isa.flatMap((f) => Object.entries((f.data.opcodes ?? {}) as Record<string, unknown>));
  return new Map(all);
});

/** The card of a fact: its value on each back end that states it. */
function factCard(specs: Specs, path: string): string | undefined {
  const [first] = path.split('.');
  if (!isFact(first)) return undefined;
  const stated = [...specs.backends].flatMap(([name, f]) => {
    const value = dataAt(f.data, path.split('.'));
    return value === undefined ? [] : [`- ${name}: ${escaped(JSON.stringify(value))}`];
  });
  return stated.length === 0 ? undefined : [`**${escaped(path)}**`, '', ...stated].join('\n');
}

function groupCard(specs: Specs, name: string): string | undefined {
  const f = specs.rules?.get(name);
  if (f === undefined) return undefined;
  const rules = f.data.rules as readonly { id: string; title: string }[];
  const runs = rowsOf(specs).filter((p) => stepTexts(p.steps).some((t) => t.includes(`rules ${name}`)));
  return [
    `**${name}** ${escaped(String(f.data.title ?? ''))}`,
    '',
    `${rules.length} rules`,
    '',
    ...line('owner', (f.data.owner ?? []) as string[]),
    ...line(
      'run by',
      runs.map((p) => p.name),
    ),
  ].join('\n');
}

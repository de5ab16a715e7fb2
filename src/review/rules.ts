import { DiagnosticError } from '../ir/diagnostic.ts';
import { entryOf } from '../ir/entry-of.ts';
import type { Isa } from '../ir/opcode.ts';
import { plural } from '../lab/render/table.ts';
import { definitionOf } from '../rules/compile.ts';
import { rulesOfDoc } from '../rules/group.ts';
import { quicklyRefuted } from '../rules/prove/prove.ts';
import { type Verdicts, verdictText } from '../rules/prove/verdict.ts';
import type { Rule } from '../rules/rule.ts';
import type { SpecFile } from '../spec/document.ts';
import { placeOf } from '../spec/places.ts';
import type { Specs } from '../spec/specs.ts';
import { type Change, onNothing } from './changes.ts';
import { canonical } from './data-diff.ts';
import { type Judged, restated, reviewChanges, standing, type Trust } from './trust.ts';

/** Decides whether rules hold. */
export interface Jury {
  /**
   * Judges a rule of the head.
   * @param which number of the rule and number of all rules, for progress messages
   */
  readonly ask: (rule: Rule, which: readonly [nth: number, of: number]) => Promise<Judged>;
  /** Is told which rule is tried next. */
  readonly tell?: (text: string) => void;
  /** As for `Trust`. */
  readonly accepted: ReadonlySet<string>;
  /** The verdicts that are stored at base and at head. */
  readonly stored: readonly [Verdicts, Verdicts];
}

/** A side's specs and its instruction set, which is null if no plan of that side resolves. */
export interface RuleSide {
  readonly specs: Specs;
  readonly isa: Isa | null;
}

interface Row {
  readonly group: string;
  readonly text: unknown;
  readonly file: SpecFile;
  readonly index: number;
}

/** The rules of a side by id, as written. */
function rowsOf(specs: Specs): Map<string, Row> {
  const out = new Map<string, Row>();
  for (const [group, file] of specs.rules ?? [])
    (file.data.rules as readonly { readonly id: string }[]).forEach((r, index) => {
      out.set(r.id, { group, text: withoutTexts(r), file, index });
    });
  return out;
}

/** A rule without its documentation. */
const withoutTexts = ({ title: _, source: __, ...rest }: Record<string, unknown> & { id: string }): unknown =>
  rest;

/** Both sides of a changed rule as texts: the fields that differ, or that the rule is new or gone. */
function rowTexts(x: Row | undefined, y: Row | undefined): Pick<Change, 'before' | 'after'> {
  if (x === undefined || y === undefined)
    return { before: x === undefined ? 'nothing' : 'there', after: y === undefined ? 'nothing' : 'new' };
  const [a, b] = [x, y].map(({ group, text }) => ({ ...(text as Record<string, unknown>), group }));
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])] as (keyof typeof a)[];
  const changed = keys.filter((k) => canonical(a[k]) !== canonical(b[k]));
  const textOf = (row: typeof a): string =>
    changed.map((k) => `${k} ${row[k] === undefined ? 'unset' : valueText(row[k])}`).join('; ');
  return { before: textOf(a), after: textOf(b) };
}

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function placeOfRow({ file, index }: Row): string {
  if (file.text === '') return file.file;
  const { line } = placeOf(file.text, ['rules', index]);
  return line > 0 ? `${file.file}:${line}` : file.file;
}

/**
 * Compiled rules of the selected groups by id, without those whose texts have faults. Instances of modifiers, which take most of the time,
 * are computed on demand (`canHold`).
 */
function rulesOf({ specs, isa }: RuleSide, wanted: (group: string) => boolean): Map<string, Rule> {
  const out = new Map<string, Rule>();
  if (isa === null) return out;
  for (const [group, f] of specs.rules ?? [])
    if (wanted(group))
      try {
        for (const r of rulesOfDoc(f.data, isa, 'texts').rules) out.set(r.id, r);
      } catch (e) {
        // Resolving this side's plans reports the faults.
        if (!(e instanceof DiagnosticError)) throw e;
      }
  return out;
}

/** True if a rule applies to any choice of modifiers; otherwise it is faulty. */
const canHold = (r: Rule): boolean => r.instances.length > 0;

const UNREADABLE: Judged = { verdict: null, unasked: 'its text has errors' };

/** What became of the rules with unchanged text whose meaning one change altered. */
export interface ProvedAgain {
  /** Their new verdicts. */
  readonly text: string;
  /** Whether any is refuted, so that the change must not be merged. */
  readonly refutes: boolean;
}

/** The part of a review about rules. */
export interface RuleReview {
  readonly changes: readonly Change[];
  /** New verdicts of rules with unchanged text, by the opcode or rule group whose change altered their meaning. */
  readonly provedAgain: ReadonlyMap<string, ProvedAgain>;
}

/**
 * Rules that were added, removed or changed, or whose opcodes changed meaning; existing ones with their proof.
 *
 * @param whereOf plans in which a group is another than before, or is there and has other opcodes
 */
export async function ruleChanges(
  base: RuleSide,
  head: RuleSide,
  whereOf: (group: string) => readonly string[],
  jury: Jury,
): Promise<RuleReview> {
  const { ask } = jury;
  const trust: Trust = { base: base.specs, head: head.specs, accepted: jury.accepted };
  const [a, b] = [rowsOf(base.specs), rowsOf(head.specs)];
  const touched = new Set(
    [...new Set([...a.keys(), ...b.keys()])].filter((id) => {
      const [x, y] = [a.get(id), b.get(id)];
      return canonical(x?.text) !== canonical(y?.text) || x?.group !== y?.group;
    }),
  );
  const groups = new Set([...touched].flatMap((id) => b.get(id)?.group ?? []));
  const rules = rulesOf(head, (g) => groups.has(g));
  const out: Change[] = [];
  let nth = 0;
  for (const id of touched) {
    nth++;
    const [x, y] = [a.get(id), b.get(id)];
    const rule = rules.get(id);
    const judged =
      y === undefined || rule === undefined || !canHold(rule)
        ? UNREADABLE
        : await ask(rule, [nth, touched.size]);
    const { note, alarm, refuted } = standing(rule, judged, trust);
    out.push({
      kind: 'rules',
      name: `${(y ?? x)!.group}: ${id}`,
      ...rowTexts(x, y),
      note: y === undefined ? '' : note,
      place: y === undefined ? '' : placeOfRow(y),
      basePlace: x !== undefined && y === undefined ? placeOfRow(x) : '',
      where: [...new Set([x, y].flatMap((r) => (r === undefined ? [] : whereOf(r.group))))],
      alarm: y !== undefined && alarm,
      refuted: y !== undefined && refuted,
      acts: { on: 'rule', name: id },
    });
  }
  const again = await proveAgain(base, head, b, touched, whereOf, jury, trust);
  const restated = await restatedChanges(head, b, touched, jury, trust);
  return {
    changes: [...out, ...again.changes, ...restated, ...reviewChanges(trust)],
    provedAgain: again.provedAgain,
  };
}

/** What is said of rules that no solver is asked about because others are refuted. */
const LEFT = 'left until none is refuted';

/**
 * Proves again the rules with unchanged text whose meaning changed because an opcode or a table that they use did. Each one that may no
 * longer hold is reported as a change. If sample values refute some, the head is wrong already, and proofs of the others, which can take
 * minutes, are left until that is mended.
 */
async function proveAgain(
  base: RuleSide,
  head: RuleSide,
  rows: ReadonlyMap<string, Row>,
  touched: ReadonlySet<string>,
  whereOf: (group: string) => readonly string[],
  { ask, tell }: Jury,
  trust: Trust,
): Promise<RuleReview> {
  const changes: Change[] = [];
  const verdicts = new Map<string, string[]>();
  if (base.isa === null || head.isa === null) return { changes, provedAgain: new Map() };
  // Compare the data and not a stored hash, which the head controls.
  const opcodes = (s: RuleSide) => canonical(s.specs.isa.map((f) => f.data));
  const sameOpcodes = opcodes(base) === opcodes(head);
  const tables = (s: RuleSide, group: string) => canonical(s.specs.rules?.get(group)?.data.tables);
  const affected = (group: string) => !sameOpcodes || tables(base, group) !== tables(head, group);
  const [was, now] = [rulesOf(base, affected), rulesOf(head, affected)];
  const others = [...now].flatMap(([id, rule]) => {
    const before = was.get(id);
    if (touched.has(id) || before === undefined || before.hash === rule.hash) return [];
    return canHold(before) && canHold(rule) ? [{ id, rule, before }] : [];
  });
  const bySamples = new Map(
    others.map(({ id, rule }, i) => {
      tell?.(`sample values of rule ${i + 1} of ${others.length}: ${id}`);
      return [id, quicklyRefuted(rule)];
    }),
  );
  const wrongAlready = [...bySamples.values()].some((v) => v !== null);
  for (const [i, { id, rule, before }] of others.entries()) {
    const row = rows.get(id)!;
    const changed = changedOpcodes(before, rule);
    const count = (verdict: string): void => {
      for (const name of changed.length === 0 ? [row.group] : changed)
        verdicts.set(name, [...(verdicts.get(name) ?? []), verdict]);
    };
    const refutation = bySamples.get(id)!;
    if (wrongAlready && refutation === null) {
      count(LEFT);
      continue;
    }
    const judged = wrongAlready ? { verdict: refutation } : await ask(rule, [i + 1, others.length]);
    const { note, alarm, refuted } = standing(rule, judged, trust);
    count(judged.verdict?.verdict ?? 'not proved');
    const cause = changed.join(', ') || 'a table of its group';
    if (alarm)
      changes.push({
        kind: 'rules',
        name: `${row.group}: ${id}`,
        before: 'there',
        after: 'means something else',
        cause,
        note: `its text is unchanged, but ${cause} changed\n${note}`,
        place: placeOfRow(row),
        basePlace: '',
        where: whereOf(row.group),
        alarm: true,
        refuted,
        acts: { on: 'rule', name: id },
      });
  }
  const provedAgain = new Map(
    [...verdicts].map(([name, list]) => [
      name,
      { text: provedText(list), refutes: list.includes('refuted') },
    ]),
  );
  return { changes, provedAgain };
}

/**
 * Rules for which the head stores another verdict than the base although their text is unchanged; and stored verdicts that match no current
 * rule, because a rule that is added later with that hash would count as judged.
 */
async function restatedChanges(
  head: RuleSide,
  rows: ReadonlyMap<string, Row>,
  touched: ReadonlySet<string>,
  { ask, stored }: Jury,
  trust: Trust,
): Promise<Change[]> {
  // Without an instruction set no rule can be compiled, which is reported elsewhere.
  if (head.isa === null) return [];
  const [was, is] = stored;
  const ids = restated(stored);
  const groups = new Set(ids.flatMap((id) => rows.get(id)?.group ?? []));
  const rules = rulesOf(head, (g) => groups.has(g));
  const out: Change[] = [];
  for (const [i, id] of ids.entries()) {
    const rule = rules.get(id);
    const texts = {
      before: entryOf(was, id) === undefined ? 'no stored verdict' : verdictText(was[id]),
      after: verdictText(is[id]),
    };
    if (rule === undefined || rule.hash !== is[id].hash) {
      const why = rows.has(id) ? 'the rule now has another hash' : 'there is no such rule';
      out.push({
        kind: 'rules',
        name: `verdict of ${id}`,
        ...texts,
        note: `${why}: a rule that gets this hash later would be trusted`,
        place: '',
        basePlace: '',
        where: [],
        alarm: true,
        acts: onNothing('no rule that is there has it'),
      });
      continue;
    }
    if (touched.has(id)) continue;
    const judged = canHold(rule) ? await ask(rule, [i + 1, ids.length]) : UNREADABLE;
    const { note, alarm, refuted } = standing(rule, judged, trust);
    const row = rows.get(id)!;
    out.push({
      kind: 'rules',
      name: `${row.group}: ${id}`,
      ...texts,
      note,
      place: placeOfRow(row),
      basePlace: '',
      where: [],
      alarm,
      refuted,
      acts: onNothing('the rule means what it meant'),
    });
  }
  return out;
}

/** Text that says how many rules were proved again, and with which verdicts. */
function provedText(verdicts: readonly string[]): string {
  const kinds = [...new Set(verdicts)].sort();
  const counts = kinds.map((k) => `${verdicts.filter((v) => v === k).length} ${k}`);
  return `${plural(verdicts.length, 'rule')} with it proved again: ${counts.join(', ')}`;
}

/** Names of the opcodes of a rule whose definition changed. */
function changedOpcodes(before: Rule, now: Rule): string[] {
  const definitions = (r: Rule) =>
    new Map(
      [...r.match, ...r.rewrite].flatMap(({ op }) =>
        op === null ? [] : [[op.name, canonical(definitionOf(op))] as const],
      ),
    );
  const was = definitions(before);
  return [...definitions(now)].flatMap(([name, text]) => (was.get(name) === text ? [] : [name]));
}

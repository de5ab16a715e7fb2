import type { Isa } from '../ir/opcode.ts';
import { rulesOfDoc } from '../rules/group.ts';
import { type Verdict, verdictText } from '../rules/prove/verdict.ts';
import type { Rule } from '../rules/rule.ts';
import { placeOf } from '../spec/places.ts';
import type { Specs } from '../spec/specs.ts';
import type { Change } from './changes.ts';
import { canonical } from './data-diff.ts';

/** What is known of a rule: stored, or asked of a solver now; null where nobody can be asked. */
export type AskVerdict = (rule: Rule) => Promise<Verdict | null>;

interface Row {
  readonly group: string;
  readonly text: unknown;
  readonly place: string;
}

/** Rules by id, as they are written. */
function rowsOf(specs: Specs): Map<string, Row> {
  const out = new Map<string, Row>();
  for (const [group, f] of specs.rules ?? [])
    (f.data.rules as readonly { readonly id: string }[]).forEach((r, i) => {
      const { line } = f.text === '' ? { line: 0 } : placeOf(f.text, ['rules', i]);
      out.set(r.id, { group, text: meaningOf(r), place: `${f.file}${line > 0 ? `:${line}` : ''}` });
    });
  return out;
}

/** A rule without what is only for readers. */
const meaningOf = ({ title: _, source: __, ...rest }: Record<string, unknown> & { id: string }): unknown =>
  rest;

/**
 * Rules that came, went or changed, those that are there with their proof.
 *
 * @param isa instruction set of the head, by which its rules are read
 */
export async function ruleChanges(base: Specs, head: Specs, isa: Isa, ask: AskVerdict): Promise<Change[]> {
  const [a, b] = [rowsOf(base), rowsOf(head)];
  const out: Change[] = [];
  const rules = new Map<string, Rule>();
  const touched = (id: string) =>
    canonical(a.get(id)?.text) !== canonical(b.get(id)?.text) || a.get(id)?.group !== b.get(id)?.group;
  for (const [, f] of head.rules ?? []) {
    if (!(f.data.rules as readonly { readonly id: string }[]).some((r) => touched(r.id))) continue;
    for (const r of rulesOfDoc(f.data, isa).rules) rules.set(r.id, r);
  }
  for (const id of new Set([...a.keys(), ...b.keys()])) {
    if (!touched(id)) continue;
    const [x, y] = [a.get(id), b.get(id)];
    const rule = rules.get(id);
    const verdict = y === undefined || rule === undefined ? null : await ask(rule);
    out.push({
      kind: 'rules',
      name: `${(y ?? x)!.group}: ${id}`,
      before: x === undefined ? 'nothing' : 'there',
      after: y === undefined ? 'nothing' : x === undefined ? 'new' : 'changed',
      note:
        y === undefined
          ? ''
          : verdict === null
            ? 'not proved: no solver could be asked'
            : `${verdictText(verdict)}${verdict.verdict === 'refuted' ? `\n${verdict.counterexample}` : ''}`,
      place: y?.place ?? '',
      where: [],
      alarm:
        y !== undefined &&
        (verdict === null || verdict.verdict === 'refuted' || verdict.verdict === 'unknown'),
    });
  }
  return out;
}

import { type Diagnostic, fileFault } from '../../ir/diagnostic.ts';
import type { Opcode } from '../../ir/opcode.ts';
import { TextError } from '../../ir/text-error.ts';
import { elaborate, isConstantSlot } from './elaborate.ts';
import { type Assign, parseMeaning } from './parse.ts';

/** Maximum number of modifier choices that are checked for one opcode. */
const MOST_CHOICES = 4096;

/**
 * Checks the meaning of an opcode under every choice of its modifiers, up to `MOST_CHOICES`: names, widths, destinations, argument kinds.
 * @param file the document that defines the opcode, for the diagnostics
 * @returns one diagnostic for each fault, even if several choices have it; none for a primitive
 */
export function checkMeaning(op: Opcode, file: string): Diagnostic[] {
  if (op.means === null) return [];
  let meaning: readonly Assign[];
  try {
    meaning = parseMeaning(op.means);
  } catch (e) {
    return [diagnose(op, file, e, '')];
  }
  const found = new Map<string, Diagnostic>();
  const consts = op.srcs.map((s) => (isConstantSlot(s) ? 0 : null));
  for (const mods of choices(op))
    try {
      elaborate(meaning, { op, mods, srcMods: [], consts });
    } catch (e) {
      const d = diagnose(op, file, e, describe(op, mods));
      if (!found.has(d.message)) found.set(d.message, d);
    }
  return [...found.values()];
}

function* choices(op: Opcode): Generator<number> {
  const total = Math.min(
    MOST_CHOICES,
    op.groups.reduce((n, g) => n * g.values.length, 1),
  );
  for (let i = 0; i < total; i++) {
    let rest = i;
    let mods = 0;
    for (const g of op.groups) {
      mods |= (rest % g.values.length) << g.shift;
      rest = Math.floor(rest / g.values.length);
    }
    yield mods >>> 0;
  }
}

const describe = (op: Opcode, mods: number): string =>
  op.groups.map((g) => `${g.name} = ${g.values[(mods >>> g.shift) & g.mask].name}`).join(', ');

function diagnose(op: Opcode, file: string, e: unknown, choice: string): Diagnostic {
  if (!(e instanceof TextError)) throw e;
  const before = op.means!.slice(0, e.at).split('\n');
  const column = before[before.length - 1].length;
  const line = op.means!.split('\n')[before.length - 1];
  const notes = [
    `in line ${before.length} of its meaning${choice === '' ? '' : `, for ${choice}`}:`,
    `  ${line}`,
    `  ${' '.repeat(column)}^`,
    ...e.notes,
  ];
  return fileFault(file, `${op.name}: ${e.message}`, notes, 'meaning');
}

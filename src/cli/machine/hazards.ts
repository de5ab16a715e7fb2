import { grouped } from '../../ir/counts.ts';
import { baseTarget } from '../../ir/target.ts';
import { hardwareName } from '../../lift/registers.ts';
import type { Machine } from '../../machine/forms.ts';
import { functionWords, type ListedFunction } from '../../machine/listing.ts';
import { hexText, instructionText, WORD_BYTES } from '../../machine/text.ts';
import { type Hazard, hazardsOf } from '../../timing/check.ts';
import { accessesIn } from '../../timing/code.ts';
import { planFor } from '../input/input.ts';
import { CliExit, failWith, out, pc } from '../terminal/ui.ts';
import { type Chosen, parsed } from './cubin-file.ts';
import { machineFor } from './lifted.ts';

/** Maximum number of instructions of a function: each takes some three kilobytes while it is checked. */
const MOST_INSTRUCTIONS = 2 ** 19;

/** A function with what is shown of its hazards. Its code is decoded again for the next: it takes many times the memory of this. */
interface Checked<T> {
  readonly name: string;
  readonly instructions: number;
  readonly hazards: readonly T[];
}

async function checkedOf<T>(
  file: string,
  c: Chosen,
  name: string | undefined,
  shown: (h: Hazard, listed: ListedFunction, machine: Machine) => T,
): Promise<Checked<T>[]> {
  const machine = await machineFor(c.target);
  const { isa } = await planFor({ sm: baseTarget(c.target) }, c.target);
  return parsed(file, c.member.where, () => functionWords(c.elf, machine))
    .filter((f) => name === undefined || f.fn.name === name)
    .map(({ fn, code }) => {
      const instructions = fn.words.length / 4;
      if (instructions > MOST_INSTRUCTIONS)
        failWith(
          `'${fn.name}' of ${file} has ${grouped(instructions)} instructions, and ${grouped(MOST_INSTRUCTIONS)} are checked`,
          '--function checks another one',
        );
      const listed = { fn, code: [...code] };
      const found = hazardsOf(fn, listed.code, accessesIn(listed, c.elf, machine, isa), machine);
      return { name: fn.name, instructions, hazards: found.map((h) => shown(h, listed, machine)) };
    });
}

/** `orrery disasm --hazards`: prints registers that are read or written too early. */
export async function hazards(
  file: string,
  cubins: readonly Chosen[],
  o: { readonly function?: string; readonly json?: boolean },
): Promise<void> {
  const members: object[] = [];
  let found = false;
  // One cubin after another: the code of all of a file takes many times the memory of one.
  for (const c of cubins) {
    if (o.json === true) {
      const functions = await checkedOf(file, c, o.function, hazardJson);
      found ||= functions.some((f) => f.hazards.length > 0);
      members.push({ where: c.member.where, target: c.target, functions });
    } else {
      const functions = await checkedOf(file, c, o.function, hazardText);
      found ||= functions.some((f) => f.hazards.length > 0);
      report(file, c, functions);
    }
  }
  if (o.json === true) out(JSON.stringify({ version: 1, file, members }, null, 2));
  if (found) throw new CliExit(1);
}

function report(file: string, c: Chosen, functions: readonly Checked<readonly string[]>[]): void {
  const place = c.member.where === '' ? '' : ` ${c.member.where}`;
  out(`${file}${place}: cubin for ${c.target}`);
  const count = functions.reduce((n, f) => n + f.hazards.length, 0);
  const words = functions.reduce((n, f) => n + f.instructions, 0);
  for (const { name, hazards } of functions) {
    if (hazards.length === 0) continue;
    out(`\n${name}`);
    for (const lines of hazards) for (const line of lines) out(`  ${line}`);
  }
  const seen = `${grouped(functions.length)} function${functions.length === 1 ? '' : 's'}, ${grouped(words)} instructions`;
  out(
    count === 0
      ? `${pc.green('nothing is too early')}: ${seen}`
      : `\n${pc.red(`${count} too early`)}: ${seen}`,
  );
}

const wordAt = (k: number, { code }: ListedFunction, machine: Machine): string =>
  instructionText(machine, code[k].instruction!, k * WORD_BYTES);

const nameOf = ({ register }: Hazard): string => {
  const { file, number } = hardwareName(register);
  return `${file}${number}`;
};

const barriersOf = (mask: number): number[] => [0, 1, 2, 3, 4, 5].filter((b) => (mask >> b) & 1);

/** The missing wait as text. */
function missing(h: Hazard): string {
  if (h.needed !== null) return `${h.cycles} cycles after it, and ${h.needed} are needed`;
  const barriers = barriersOf(h.barriers);
  const what =
    h.kind === 'written before it is read' ? 'that its operands are read' : 'that its result is there';
  return barriers.length === 0
    ? `no barrier says ${what}`
    : `barrier ${barriers.join(' or ')} says ${what}, and nothing has waited for it`;
}

/** A hazard as text: what is too early, and the two instructions. */
export function hazardText(h: Hazard, listed: ListedFunction, machine: Machine): string[] {
  const at = (k: number): string => `${hexText(k * WORD_BYTES)} ${wordAt(k, listed, machine)}`;
  return [`${nameOf(h)} is ${h.kind}: ${missing(h)}`, `  ${at(h.first)}`, `  ${at(h.second)}`];
}

const hazardJson = (h: Hazard, listed: ListedFunction, machine: Machine) => ({
  kind: h.kind,
  register: nameOf(h),
  first: { address: h.first * WORD_BYTES, text: wordAt(h.first, listed, machine) },
  second: { address: h.second * WORD_BYTES, text: wordAt(h.second, listed, machine) },
  cycles: h.cycles,
  needed: h.needed,
  barriers: barriersOf(h.barriers),
});

/** Messages for faults of operands; for special registers, ranges and spaces also the checks. */
import type { PtxInstr, PtxOperand } from './ast.ts';
import type { Fault } from './check-spelling.ts';
import type { Declared } from './declared.ts';
import { bitsOf, kindOf, type OperandForm, type Range } from './forms.ts';

/** A fault of an operand, with the name at which it is reported; '' for the whole instruction. */
export interface OperandFault extends Fault {
  readonly name: string;
}

/** A fault at a name. */
export const fault = (name: string, message: string, notes: readonly string[] = []): OperandFault => ({
  name,
  message,
  notes,
});
/** A fault of the whole instruction. */
export const plainFault = (message: string, notes: readonly string[] = []): OperandFault =>
  fault('', message, notes);

/** The first fault that `of` finds in a list; null if there is none. */
export function first<T>(items: readonly T[], of: (x: T) => OperandFault | null): OperandFault | null {
  for (const x of items) {
    const found = of(x);
    if (found !== null) return found;
  }
  return null;
}

/** An instruction without its operands, for messages. */
export const written = (s: PtxInstr): string => [s.opcode, ...s.mods].join('.');

/** The selector after a register, as `x` of `%r1.x`; '' if there is none. */
export const partOf = (o: PtxOperand): string => (o.kind === 'reg' ? o.part : '');

/** The name of an operand that is a register or symbol; '' for other operands. */
export const nameIn = (o: PtxOperand): string => (o.kind === 'reg' || o.kind === 'sym' ? o.name : '');

/** An operand in the words of a message. */
export function describe(o: PtxOperand): string {
  switch (o.kind) {
    case 'reg':
    case 'sym':
      return `'${o.name}'`;
    case 'int':
      return `${o.value}`;
    case 'float':
      return 'a floating-point constant';
    case 'addr':
      return 'an address';
    case 'vector':
      return 'a vector';
    case 'pair':
      return 'a pair';
    case 'list':
      return 'a list';
    case 'sink':
      return "'_'";
  }
}

/** Special registers of 64 bits (PTX ISA 9.0, chapter 10); all others have 32. */
const WIDE = /^%(clock64|pm[0-7]_64|globaltimer|gridid|current_graph_exec)$/;

/** The fault of a special register as a source of the given type; null if there is none. */
export function specialFault(
  s: PtxInstr,
  name: string,
  type: string,
  want: OperandForm,
): OperandFault | null {
  if (/^%(n?tid|n?ctaid|n?clusterid|cluster_n?ctaid)$/.test(name))
    return fault(name, `'${name}' is a vector, but '${s.opcode}' takes one value there`, [
      `'${name}.x' is its first element`,
    ]);
  const bits = bitsOf(type);
  const kind = kindOf(type);
  if ((name === '%is_explicit_cluster') !== (type === 'pred'))
    return fault(
      name,
      type === 'pred'
        ? `'${name}' is not a predicate`
        : `'${name}' is a predicate, but '${s.opcode}' takes ${bits} bits there`,
    );
  if (type === 'pred') return null;
  if (kind !== '' && kind !== 'i') return fault(name, `'${name}' is an integer, but this is '.${type}'`);
  // Older PTX had 16-bit grid coordinates and a 32-bit gridid; these sizes are still accepted.
  const have = WIDE.test(name) ? 64 : 32;
  if (bits === have || want.larger || bits === 16 || (name === '%gridid' && bits === 32)) return null;
  return fault(name, `'${name}' has ${have} bits, but '${s.opcode}' takes ${bits} there`);
}

/** The fault of a constant outside of its range; null if there is none. */
export function rangeFault(
  s: PtxInstr,
  o: PtxOperand & { kind: 'int' },
  range: Range | null,
): OperandFault | null {
  if (range === null) return null;
  const value = o.unsigned ? o.value : BigInt.asIntN(64, o.value);
  switch (range.kind) {
    case 'between':
      if (value < range.low || value > range.high)
        return plainFault(`${value} in '${written(s)}' is not between ${range.low} and ${range.high}`);
      if (value % range.step === 0n) return null;
      return plainFault(`${value} in '${written(s)}' is not a multiple of ${range.step}`);
    case 'multiple':
      if (value % range.of === 0n) return null;
      return plainFault(`${value} in '${written(s)}' is not a multiple of ${range.of}`);
    case 'one':
      if (range.of.includes(value)) return null;
      return plainFault(`${value} in '${written(s)}' is not one of ${range.of.join(', ')}`);
  }
}

/** The fault of `cvta` with a variable in another space than the one it names; null if there is none. */
export function spaceOf(s: PtxInstr, d: Declared): OperandFault | null {
  const space = s.mods.map((m) => m.split('::')[0]).find((m) => SPACES.has(m));
  if (space === undefined || space === d.v.space) return null;
  return fault(d.v.name, `'${d.v.name}' is .${d.v.space}, but '${written(s)}' takes .${space}`);
}

const SPACES: ReadonlySet<string> = new Set(['global', 'local', 'shared', 'const', 'param']);

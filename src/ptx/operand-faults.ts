/** What is wrong with an operand, in words; of special registers and ranges also whether. */
import type { PtxInstr, PtxOperand } from './ast.ts';
import type { Fault } from './check-spelling.ts';
import type { Declared } from './declared.ts';
import { bitsOf, kindOf, type OperandForm, type Range } from './forms.ts';

/** A fault of an operand, and the name in it. */
export interface OperandFault extends Fault {
  readonly name: string;
}

export const fault = (name: string, message: string, notes: readonly string[] = []): OperandFault => ({
  name,
  message,
  notes,
});
export const plainFault = (message: string, notes: readonly string[] = []): OperandFault =>
  fault('', message, notes);

export function first<T>(items: readonly T[], of: (x: T) => OperandFault | null): OperandFault | null {
  for (const x of items) {
    const found = of(x);
    if (found !== null) return found;
  }
  return null;
}

export const written = (s: PtxInstr): string => [s.opcode, ...s.mods].join('.');

export const partOf = (o: PtxOperand): string => (o.kind === 'reg' ? o.part : '');

export const nameIn = (o: PtxOperand): string => (o.kind === 'reg' || o.kind === 'sym' ? o.name : '');

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

/** Special registers of 64 and of 128 bits (PTX ISA 9.0, chapter 10); all others have 32. */
const WIDE = /^%(clock64|pm[0-7]_64|globaltimer|gridid|current_graph_exec)$/;

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
        ? `'${name}' is no predicate`
        : `'${name}' is a predicate, but '${s.opcode}' takes ${bits} bits there`,
    );
  if (type === 'pred') return null;
  if (kind !== '' && kind !== 'i') return fault(name, `'${name}' is an integer, but this is '.${type}'`);
  // Parts of the grid were 16 bits once, and gridid 32: those sizes are taken still.
  const have = WIDE.test(name) ? 64 : 32;
  if (bits === have || want.larger || bits === 16 || (name === '%gridid' && bits === 32)) return null;
  return fault(name, `'${name}' has ${have} bits, but '${s.opcode}' takes ${bits} there`);
}

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
      return plainFault(`${value} in '${written(s)}' is no multiple of ${range.step}`);
    case 'multiple':
      if (value % range.of === 0n) return null;
      return plainFault(`${value} in '${written(s)}' is no multiple of ${range.of}`);
    case 'one':
      if (range.of.includes(value)) return null;
      return plainFault(`${value} in '${written(s)}' is not one of ${range.of.join(', ')}`);
  }
}

/** `cvta.shared` of a variable in another space. */
export function spaceOf(s: PtxInstr, d: Declared): OperandFault | null {
  const space = s.mods.map((m) => m.split('::')[0]).find((m) => SPACES.has(m));
  if (space === undefined || space === d.v.space) return null;
  return fault(d.v.name, `'${d.v.name}' is .${d.v.space}, but '${written(s)}' takes .${space}`);
}

const SPACES: ReadonlySet<string> = new Set(['global', 'local', 'shared', 'const', 'param']);

/** Checks addresses in instructions: the kind of their base, and its state space (PTX ISA 9.0, 6.4.1). */
import type { PtxInstr, PtxOperand } from './ast.ts';
import { type Declared, type Named, opaqueType } from './declared.ts';

const SPACES: ReadonlySet<string> = new Set(['global', 'local', 'shared', 'const', 'param']);

interface AddressFault {
  readonly name: string;
  readonly message: string;
  readonly notes: readonly string[];
}

/**
 * The first fault of an address; null if there is none.
 * @param addressSize address size of the module in bits
 * @param find resolves a name; undefined if it is not declared, which is reported elsewhere
 */
export function addressFault(
  s: PtxInstr,
  o: PtxOperand & { readonly kind: 'addr' },
  addressSize: number,
  find: (name: string) => Named,
): AddressFault | null {
  const { base } = o;
  const spaces = s.mods.map((m) => m.split('::')[0]).filter((m) => SPACES.has(m));
  const space: string | undefined = spaces[0];
  if (base === '')
    return space === 'local'
      ? null
      : {
          name: '',
          message: `an address in ${space === undefined ? 'generic space' : `.${space}`} is a register or a variable, not a number`,
          notes: [],
        };
  const d = find(base);
  if (d === undefined) return null;
  if (typeof d === 'string')
    return {
      name: base,
      message: `'${base}' is a ${d === 'special' ? 'special register' : d}, which is not an address`,
      notes: [],
    };
  if (d.v.space === 'reg') return registerFault(s, base, d, space, addressSize);
  // The addresses of a copy are in its spaces, in their order; a third address is that of a barrier in shared memory.
  if (spaces.length < 2) return spaceFault(s, d, space);
  const at = s.operands.filter((x) => x.kind === 'addr').indexOf(o);
  return spaceFault(s, d, spaces[at] ?? 'shared');
}

/** The fault of a texture or surface operand, which must be a variable of its opaque type or a register with its handle. */
export function handleFault(
  s: PtxInstr,
  o: PtxOperand & { readonly kind: 'addr' },
  type: string,
  find: (name: string) => Named,
): AddressFault | null {
  const { base, offset } = o;
  const d = find(base);
  if (base !== '' && d === undefined) return null;
  if (typeof d === 'object' && offset === 0n)
    if (d.v.space !== 'reg' ? opaqueType(d.v) === type : d.bits === 64 && (d.kind === '' || d.kind === 'i'))
      return null;
  return {
    name: base,
    message: `'${[s.opcode, ...s.mods].join('.')}' takes a variable of type .${type} or a register of 64 bits there`,
    notes: [],
  };
}

/** Instructions that access generic addresses if they name no space. */
const GENERIC: ReadonlySet<string> = new Set(['ld', 'st', 'atom', 'red', 'ldu']);

/** Instructions whose generic and global addresses must have the module's address size. */
const WHOLE: ReadonlySet<string> = new Set([
  ...GENERIC,
  ...['applypriority', 'discard', 'mbarrier', 'multimem', 'prefetch', 'prefetchu'],
]);

function registerFault(
  s: PtxInstr,
  name: string,
  d: Declared,
  space: string | undefined,
  addressSize: number,
): AddressFault | null {
  if ((d.kind !== '' && d.kind !== 'i') || d.bits === 1 || d.bits > 64) {
    const notes = ['an address is in a register of an integer or .b type of at most 64 bits'];
    return { name, message: `'${name}' is .${d.v.type}, which is not an address`, notes };
  }
  const whole =
    WHOLE.has(s.opcode) &&
    !s.mods.includes('bulk') &&
    (space === undefined || space === 'global') &&
    !s.mods.includes('tensormap');
  if (!whole || d.bits !== 32 || addressSize !== 64) return null;
  const message = `'${name}' has 32 bits, but addresses in ${space === undefined ? 'generic space' : '.global'} have 64`;
  return { name, message, notes: [] };
}

function spaceFault(s: PtxInstr, d: Declared, space: string | undefined): AddressFault | null {
  const { name, space: own } = d.v;
  const written = [s.opcode, ...s.mods].join('.');
  if (d.input && own === 'param' && s.opcode === 'st')
    return {
      name,
      message: `'${name}' is an input parameter and cannot be written`,
      notes: [],
    };
  if (space === undefined) {
    if (!GENERIC.has(s.opcode) || (own !== 'param' && own !== 'const')) return null;
    return { name, message: `'${name}' is .${own}, but '${written}' names no space`, notes: [] };
  }
  if (space === own) return null;
  return { name, message: `'${name}' is .${own}, but '${written}' accesses .${space}`, notes: [] };
}

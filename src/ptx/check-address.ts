/** Addresses of instructions: what their base is, and in which space (PTX ISA 9.0, 6.4.1). */
import type { PtxInstr, PtxOperand } from './ast.ts';
import { type Declared, type Named, opaqueType } from './declared.ts';

const SPACES: ReadonlySet<string> = new Set(['global', 'local', 'shared', 'const', 'param']);

interface AddressFault {
  readonly name: string;
  readonly message: string;
  readonly notes: readonly string[];
}

/**
 * What is wrong with an address.
 * @param addressSize of the module, in bits
 * @param find what a name is; undefined, and told of elsewhere, if it is not declared
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
      message: `'${base}' is a ${d === 'special' ? 'special register' : d}, which is no address`,
      notes: [],
    };
  if (d.v.space === 'reg') return registerFault(s, base, d, space, addressSize);
  // Of a copy, one address is in each space, in their order; a third is of a barrier in shared memory.
  if (spaces.length < 2) return spaceFault(s, d, space);
  const at = s.operands.filter((x) => x.kind === 'addr').indexOf(o);
  return spaceFault(s, d, spaces[at] ?? 'shared');
}

/** What is wrong with the name of a texture or surface: a variable of its opaque type, or a register with its handle. */
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

/** Instructions that access generic addresses where they name no space. */
const GENERIC: ReadonlySet<string> = new Set(['ld', 'st', 'atom', 'red', 'ldu']);

/** Those and others whose addresses, generic or global, are as wide as the module says. */
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
    return { name, message: `'${name}' is .${d.v.type}, which is no address`, notes };
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
      message: `'${name}' is a parameter that the function is given: it is not written`,
      notes: [],
    };
  if (space === undefined) {
    if (!GENERIC.has(s.opcode) || (own !== 'param' && own !== 'const')) return null;
    return { name, message: `'${name}' is .${own}, but '${written}' names no space`, notes: [] };
  }
  if (space === own) return null;
  return { name, message: `'${name}' is .${own}, but '${written}' accesses .${space}`, notes: [] };
}

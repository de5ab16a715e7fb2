/** Addresses of instructions: what their base is, and in which space (PTX ISA 9.0, 6.4.1). */
import type { PtxInstr, PtxOperand } from './ast.ts';
import type { Declared, Named } from './declared.ts';

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
  if (o.extra.length > 0)
    return {
      name: '',
      message: `an address of '${s.opcode}' has one part`,
      notes: ["write '[base+offset]'"],
    };
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
  // Of a copy, one address is in each space.
  if (spaces.length > 1 && spaces.includes(d.v.space)) return null;
  return d.v.space === 'reg' ? registerFault(s, base, d, space, addressSize) : spaceFault(s, d, space);
}

/** Instructions that access generic addresses where they name no space. */
const GENERIC: ReadonlySet<string> = new Set(['ld', 'st', 'atom', 'red', 'ldu']);

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
  const whole = GENERIC.has(s.opcode) && (space === undefined || space === 'global');
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

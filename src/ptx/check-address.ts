/** Addresses of instructions: what their base is, and in which space (PTX ISA 9.0, 6.4.1). */
import type { PtxInstr, PtxOperand } from './ast.ts';
import type { Declared, Named } from './check-instruction.ts';

const SPACES: ReadonlySet<string> = new Set(['global', 'local', 'shared', 'const', 'param']);

interface AddressFault {
  readonly name: string;
  readonly message: string;
  readonly notes: readonly string[];
}

/**
 * What is wrong with an address.
 * @param find what a name is; undefined, and told of elsewhere, if it is not declared
 */
export function addressFault(
  s: PtxInstr,
  o: PtxOperand & { readonly kind: 'addr' },
  find: (name: string) => Named,
): AddressFault | null {
  const { base } = o;
  if (o.extra.length > 0)
    return {
      name: '',
      message: `an address of '${s.opcode}' has one part`,
      notes: ["write '[base+offset]'"],
    };
  const space = s.mods.map((m) => m.split('::')[0]).find((m) => SPACES.has(m));
  if (base === '')
    return space === undefined || space === 'local' || s.mods.length === 0
      ? null
      : {
          name: '',
          message: `an address in .${space} is a register or a variable, not a number`,
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
  return d.v.space === 'reg' ? registerFault(base, d) : spaceFault(s, d, space);
}

function registerFault(name: string, d: Declared): AddressFault | null {
  if ((d.kind === '' || d.kind === 'i') && d.bits !== 1) return null;
  const notes = ['an address is in a register of an integer or .b type'];
  return { name, message: `'${name}' is .${d.v.type}, which is no address`, notes };
}

function spaceFault(s: PtxInstr, d: Declared, space: string | undefined): AddressFault | null {
  const { name, space: own } = d.v;
  if (space === undefined || space === own) return null;
  return {
    name,
    message: `'${name}' is .${own}, but '${[s.opcode, ...s.mods].join('.')}' accesses .${space}`,
    notes: [],
  };
}

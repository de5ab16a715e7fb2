/** Instructions against their signatures: modifiers, number of operands, and the sizes of registers (PTX ISA 9.0, 9.4). */
import type { PtxInstr, PtxOperand, VarDecl } from './ast.ts';
import { type CheckReport, didYouMean } from './check-variable.ts';
import { placeOf } from './place.ts';
import { bitsOf, type Signature, signatureOf } from './signatures.ts';

/** What an instruction's name and modifiers say, worked out once for each spelling. */
interface Form {
  readonly opcode: string;
  readonly signature: Signature;
  /** Why the spelling is wrong, and what may be meant; null where it is right. */
  readonly fault: { readonly message: string; readonly notes: readonly string[] } | null;
  /** The one type; '' where there is none, or several. */
  readonly type: string;
  /** i, f, or nothing where the type is of bits. */
  readonly kind: string;
  /** Bits of each operand; 0 where anything goes. */
  readonly bits: readonly number[];
}

/** By the list of modifiers: the parser makes one for each spelling of an instruction in a file. */
const forms = new WeakMap<readonly string[], Form | null>();

function formOf(s: PtxInstr): Form | null {
  let form = forms.get(s.mods);
  if (form === undefined || (form !== null && form.opcode !== s.opcode)) {
    form = makeForm(s.opcode, s.mods);
    forms.set(s.mods, form);
  }
  return form;
}

/** Sub-qualifiers (`L1::evict_first`, `shared::cta`) are those of their base. */
const known = (sig: Signature, m: string): boolean =>
  sig.modifiers.has(m) ||
  sig.types.has(m) ||
  /^((L[12]|shared|param|mbarrier|scaled)::|(u?e\d+m\d+|s2f6)(x\d)?$)/.test(m);

/** Modifiers that only floating point has, and those that only integers have (PTX ISA 9.0, 9.7.1 to 9.7.5). */
const ONLY_FLOAT = new Set('rn rz rm rp ftz approx full'.split(' '));
const ONLY_INT = new Set('cc hi lo ls hs wide'.split(' '));

const classOf = (type: string): string => (/^b?f\d/.test(type) ? 'f' : 'i');

function makeForm(opcode: string, mods: readonly string[]): Form | null {
  const signature = signatureOf(opcode);
  if (signature === undefined) return null;
  const types = mods.filter((m) => signature.types.has(m) && bitsOf(m) > 0);
  const type = types.length === 1 ? types[0] : '';
  const size = bitsOf(type);
  const wide = mods.includes('wide');
  const bits =
    opcode === 'cvt'
      ? conversionBits(mods, types)
      : [...signature.shape].map((c) =>
          c === 'w'
            ? 32
            : c === 'p'
              ? 1
              : c === 't' || c === 'l'
                ? size
                : c === 'd'
                  ? wide
                    ? 2 * size
                    : size
                  : 0,
        );
  return {
    opcode,
    signature,
    fault: spelling(opcode, mods, signature, types),
    type,
    kind: kindOf(type),
    bits,
  };
}

function spelling(opcode: string, mods: readonly string[], sig: Signature, types: readonly string[]) {
  const stranger = mods.find((m) => !known(sig, m));
  if (stranger !== undefined) {
    const near = didYouMean(stranger, [...sig.types, ...sig.modifiers]);
    const list = [...sig.types].map((t) => `.${t}`).join(', ');
    const notes = near.length > 0 || list === '' ? near : [`types of '${opcode}' are ${list}`];
    return { message: `'${opcode}' has no modifier '.${stranger}'`, notes };
  }
  if (types.length === 0 && sig.types.size > 0)
    return {
      message: `'${opcode}' needs a type`,
      notes: [`it is one of ${[...sig.types].map((t) => `.${t}`).join(', ')}`],
    };
  if (opcode === 'cvt') return conversion(mods, types);
  const only = types.length === 1 ? (classOf(types[0]) === 'f' ? ONLY_INT : ONLY_FLOAT) : null;
  const misfit = mods.find((m) => only?.has(m));
  if (misfit !== undefined)
    return { message: `'.${misfit}' of '${opcode}' does not go with '.${types[0]}'`, notes: [] };
  const lacks = sig.required.find(
    (r) => types.every((t) => r.for.includes(classOf(t))) && !mods.some((m) => r.oneOf.includes(m)),
  );
  if (lacks === undefined) return null;
  const list = lacks.oneOf.map((m) => `.${m}`);
  return {
    message: `'${opcode}${types.map((t) => `.${t}`).join('')}' needs ${list.length === 1 ? list[0] : `one of ${list.join(', ')}`}`,
    notes: [],
  };
}

/** Scalar conversions name two types, and how they round where the result may not hold the value (PTX ISA 9.0, 9.7.9.21). */
function conversion(mods: readonly string[], types: readonly string[]) {
  const last = mods.at(-1)!;
  if (types.length < 2 && !mods.some((m) => /^(u?e\d+m\d+|s2f6)(x\d)?$/.test(m)))
    return { message: `'cvt' needs two types, found ${types.map((t) => `.${t}`)}`, notes: [] };
  const [to, from] = types;
  if (types.length !== 2 || last !== from || !SCALAR.test(to) || !SCALAR.test(from)) return null;
  const rounds = mods.some((m) => /^r[nzmp]$|^rna$|^rs$/.test(m));
  const toWhole = mods.some((m) => /^r[nzmp]i$/.test(m));
  const wanted =
    classOf(from) === 'f'
      ? classOf(to) === 'i'
        ? !toWhole && '.rni, .rzi, .rmi or .rpi'
        : bitsOf(to) < bitsOf(from) && !rounds && '.rn, .rz, .rm or .rp'
      : classOf(to) === 'f' && !rounds && '.rn, .rz, .rm or .rp';
  return wanted === false
    ? null
    : { message: `'cvt.${to}.${from}' must say how it rounds: ${wanted}`, notes: [] };
}

/** Bits of both operands of a scalar conversion; those of packed and narrow formats are not checked. */
const conversionBits = (mods: readonly string[], types: readonly string[]): readonly number[] =>
  types.length === 2 && mods.at(-1) === types[1] && types.every((t) => SCALAR.test(t))
    ? types.map(bitsOf)
    : [];

const SCALAR = /^([us]\d+|f16|f32|f64)$/;

/** What the check of an operand needs of the declaration that its name has. */
export interface Declared {
  readonly v: VarDecl;
  readonly bits: number;
  /** i, f, or nothing for untyped bits. */
  readonly kind: string;
}

export const declaredAs = (v: VarDecl): Declared => ({ v, bits: bitsOf(v.type), kind: kindOf(v.type) });

/**
 * Checks one instruction.
 * @param declared the declaration of each operand that is the name of a register or variable; undefined for all else
 */
export function checkInstruction(
  s: PtxInstr,
  text: string,
  declared: readonly (Declared | undefined)[],
  report: CheckReport,
): void {
  const form = formOf(s);
  if (form === null) return;
  const { signature, fault, bits } = form;
  if (fault !== null) {
    report(s.span, 'ptx-modifier', fault.message, () => fault.notes);
    return;
  }
  const n = s.operands.length;
  if (n < signature.fewest || n > signature.most) {
    const { fewest, most } = signature;
    const wanted = fewest === most ? `${fewest}` : `${fewest} to ${most}`;
    report(s.span, 'ptx-operands', `'${s.opcode}' takes ${wanted} operands, found ${n}`);
    return;
  }
  for (let i = 0; i < n; i++) {
    const d = declared[i];
    if (d !== undefined && bits[i] > 0 && d.v.space === 'reg') checkSize(s, i, form, text, d, report);
  }
}

/** The name that an operand is, whole; null where it is more than that. */
const nameOf = (o: PtxOperand): string | null =>
  o.kind === 'reg' && o.part === '' ? o.name : o.kind === 'sym' && o.offset === 0n ? o.name : null;

function checkSize(
  s: PtxInstr,
  i: number,
  form: Form,
  text: string,
  { v, bits: have, kind }: Declared,
  report: CheckReport,
): void {
  const want = form.bits[i];
  const letter = form.signature.shape[i];
  if (have === want && v.vector <= 1) {
    // A value is of its kind or of none: f32 and u32 do not mix, .b32 goes with both (PTX ISA 9.0, table 26).
    if (kind === '' || kind === form.kind || form.kind === '' || (letter !== 't' && letter !== 'd')) return;
  } else if (v.vector <= 1 && (have === 0 || (letter === 'l' && have > want))) return;
  const name = nameOf(s.operands[i]);
  if (name === null) return;
  const at = placeOf(text, s.span, name);
  if (v.vector > 1) {
    if (s.opcode !== 'mov' && letter !== 'l')
      report(at, 'ptx-operand-type', `'${name}' is a vector, but '${s.opcode}' takes one value there`, () => [
        `'${name}.x' is its first element`,
      ]);
    return;
  }
  report(
    at,
    'ptx-operand-type',
    `'${name}' is .${v.type}, but '${s.opcode}' takes ${letter === 'l' ? 'at least ' : ''}${want === 1 ? 'a predicate' : `${want} bits${have === want ? ` of .${form.type}` : ''}`} there`,
  );
}

const kindOf = (type: string): string => (/^[us]\d/.test(type) ? 'i' : /^f\d+$/.test(type) ? 'f' : '');

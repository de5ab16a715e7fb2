/** Checks instructions against the forms of the syntax table: modifiers, then number, kinds, sizes and ranges of operands. */
import type { PtxInstr, PtxOperand } from './ast.ts';
import { addressFault, handleFault } from './check-address.ts';
import type { CheckReport } from './check-report.ts';
import { type Fitting, type Home, type Spelling, spell } from './check-spelling.ts';
import type { Declared, Named } from './declared.ts';
import { bitsOf, countOf, kindOf, type OperandForm } from './forms.ts';
import {
  describe,
  fault,
  first,
  nameIn,
  type OperandFault,
  partOf,
  plainFault,
  rangeFault,
  spaceOf,
  specialFault,
  written,
} from './operand-faults.ts';
import { placeOf } from './place.ts';

/** Cache by the array of modifiers, of which the parser makes one for each spelling in a file. */
const spellings = new WeakMap<readonly string[], Spelling | null>();

/** Cache by version and target, then by spelling; shared by all files. */
const spellingsByTarget = new Map<string, Map<string, Spelling | null>>();
/** Maximum number of cached spellings. When it is reached, the cache is cleared, so that no input can exhaust memory. */
const MOST_SPELLINGS = 10_000;
let kept = 0;

function spellingIn(opcode: string, mods: readonly string[], home: Home): Spelling | null {
  const { version, newer, sm, suffix, addressSize } = home;
  const machine = `${version} ${newer} ${sm} ${suffix} ${addressSize}`;
  let here = spellingsByTarget.get(machine);
  if (here === undefined) spellingsByTarget.set(machine, (here = new Map()));
  const text = `${opcode}.${mods.join('.')}`;
  let spelling = here.get(text);
  if (spelling !== undefined) return spelling;
  if (kept++ >= MOST_SPELLINGS) {
    spellingsByTarget.clear();
    spellingsByTarget.set(machine, (here = new Map()));
    kept = 1;
  }
  spelling = spell(opcode, mods, home);
  // A long spelling is most likely a mistake that occurs once.
  if (text.length < 200) here.set(text, spelling);
  return spelling;
}

function spellingOf(s: PtxInstr, home: Home): Spelling | null {
  let found = spellings.get(s.mods);
  if (found === undefined || (found !== null && found.opcode !== s.opcode)) {
    found = spellingIn(s.opcode, s.mods, home);
    spellings.set(s.mods, found);
  }
  return found;
}

/** Checks instructions of one function. */
export class InstructionChecker {
  private readonly text: string;
  private readonly home: Home;
  private readonly report: CheckReport;
  private readonly find: (name: string) => Named;

  /** @param find resolves a name in the scope of the instruction; undefined if it is not declared, which is reported elsewhere */
  constructor(text: string, home: Home, report: CheckReport, find: (name: string) => Named) {
    this.text = text;
    this.home = home;
    this.report = report;
    this.find = find;
  }

  /**
   * Reports the first fault of an instruction.
   * @param declared the declaration of each operand that is the name of a register or variable; undefined for other operands
   */
  check(s: PtxInstr, declared: readonly (Declared | undefined)[]): void {
    const spelling = spellingOf(s, this.home);
    // Instructions that a newer PTX may have are not checked; they are carried unchanged.
    if (spelling === null || spelling.unknown) return;
    if (spelling.fault !== null) {
      const { message, notes } = spelling.fault;
      this.report(s.span, 'ptx-modifier', message, () => notes);
      return;
    }
    const n = s.operands.length;
    // The fault of the form that matches the most operands is reported.
    let nearest: OperandFault | null = null;
    let furthest = -1;
    for (const f of spelling.fitting) {
      if (n < f.form.fewest || n > f.form.operands.length) continue;
      const fault = this.fault(s, f, declared);
      if (fault === null) return;
      if (this.reached <= furthest) continue;
      nearest = fault;
      furthest = this.reached;
    }
    if (nearest !== null) {
      const { name, message, notes } = nearest;
      const at = name === '' ? s.span : placeOf(this.text, s.span, name);
      this.report(at, 'ptx-operand-type', message, () => notes);
    } else this.report(s.span, 'ptx-operands', countFault(s, spelling.fitting));
  }

  /** Progress of `fault`: twice the index of the faulty operand, plus one if a vector is expected and found there. */
  private reached = 0;

  /** The first fault of the operands with respect to one form; null if there is none. Sets `reached`. */
  private fault(s: PtxInstr, f: Fitting, declared: readonly (Declared | undefined)[]): OperandFault | null {
    const { operands } = s;
    for (let i = 0; i < operands.length; i++) {
      const want = f.form.operands[i];
      if (want.kind === 'any') continue;
      const d = declared[i];
      // Fast path: nearly all operands are registers of the right type.
      if (
        d !== undefined &&
        d.v.space === 'reg' &&
        want.kind === 'value' &&
        want.vector === 0 &&
        want.pair !== 'must' &&
        this.plain(operands[i], d, typeOf(want, f), want)
      )
        continue;
      const fault = this.operandFault(s, operands[i], want, f);
      if (fault === null) continue;
      this.reached = 2 * i + Number(want.count !== null && operands[i].kind === 'vector');
      return fault;
    }
    return null;
  }

  /** Fast test for a register of a fitting type; false means that the full check decides. */
  private plain(o: PtxOperand, d: Declared, type: string, want: OperandForm): boolean {
    if (o.kind === 'reg' ? o.neg || o.not || o.part !== '' : o.kind !== 'sym') return false;
    if (o.kind === 'sym' && o.offset !== 0n && want.result) return false;
    if (d.v.vector > 1) return false;
    const bits = bitsOf(type);
    if (bits !== d.bits && !(want.larger && d.bits > bits && bits > 1)) return false;
    return agree(d.kind, kindOf(type), want);
  }

  private operandFault(s: PtxInstr, o: PtxOperand, want: OperandForm, f: Fitting): OperandFault | null {
    const type = typeOf(want, f);
    if (want.kind === 'memory') return this.memoryFault(s, o, want, f);
    if (want.kind === 'constant')
      return o.kind === 'int' ? rangeFault(s, o, want.range) : this.kindFault(s, o, 'an integer constant');
    if (o.kind === 'pair') {
      if (want.pair === '') return this.kindFault(s, o, 'one result');
      return (
        this.operandFault(s, o.first, { ...want, pair: '' }, f) ??
        this.partFault(s, o.second, 'pred', { ...want, sink: true, larger: false })
      );
    }
    if (want.pair === 'must') return this.kindFault(s, o, 'two results: a|b');
    if (want.count !== null) return this.countedFault(s, o, type, want, countOf(want.count, f.sizes));
    if (o.kind === 'vector') return this.vectorFault(s, o, type, want, f);
    if (want.vector > 0 && f.elements > 0) {
      const d = this.find(nameIn(o));
      if (d === 'special' && want.special) return null;
      if (typeof d !== 'object' || d.v.vector !== f.elements || partOf(o) !== '')
        return this.kindFault(s, o, `a vector of ${f.elements}`);
      return null;
    }
    return this.partFault(s, o, type, want);
  }

  private memoryFault(s: PtxInstr, o: PtxOperand, want: OperandForm, f: Fitting): OperandFault | null {
    if (o.kind !== 'addr') return this.kindFault(s, o, 'an address: [...]');
    const { extra } = o;
    const all = want.parts;
    const parts = extra.length < all.length ? all.filter((p) => !p.optional) : all;
    if (extra.length !== parts.length)
      return plainFault(
        all.length === 0
          ? `an address of '${s.opcode}' has one part`
          : `an address of '${written(s)}' has ${parts.length} parts after its base, found ${extra.length}`,
        all.length === 0 ? ["write '[base+offset]'"] : [],
      );
    const base =
      want.handle === ''
        ? addressFault(s, o, this.home.addressSize, this.find)
        : handleFault(s, o, want.handle, this.find);
    if (base !== null) return base;
    for (const [k, part] of parts.entries()) {
      const x = extra[k];
      // A vector of one element needs no braces.
      const count = part.count === null ? 0 : countOf(part.count, f.sizes);
      const bare = count === 1 && x.kind !== 'vector';
      const found = isPadded(s, x, count)
        ? this.countedFault(s, x, typeOf(part, f), part, x.items.length)
        : this.operandFault(s, x, bare ? { ...part, kind: 'value', count: null } : part, f);
      if (found !== null) return found;
    }
    return null;
  }

  /** The fault of an operand of `count` values in braces, or of a register that is a vector of `count` elements. */
  private countedFault(
    s: PtxInstr,
    o: PtxOperand,
    type: string,
    want: OperandForm,
    count: number,
  ): OperandFault | null {
    if (o.kind !== 'vector') {
      const d = this.find(nameIn(o));
      const fits = typeof d === 'object' && count > 1 && d.v.vector === count;
      return fits ? null : this.kindFault(s, o, `${count} in braces`);
    }
    if (o.items.length !== count)
      return plainFault(`'${written(s)}' takes ${count} in braces there, found ${o.items.length}`);
    if (!want.indexed && this.allPlain(o.items, type, want)) return null;
    // Elements of matrices may be constants, those of pairs and of tf32 as words. Elsewhere, floating-point elements may not.
    const matrix = s.opcode === 'mma' || s.opcode === 'wmma';
    const constants = matrix || want.indexed || typeof want.type === 'number' || !/^f/.test(type);
    const one = { ...want, kind: 'value' as const, sink: want.result, constants };
    const word = matrix && /^(b?f16x2|tf32)$/.test(type) ? 'b32' : type;
    for (const [k, x] of o.items.entries()) {
      const found = this.partFault(
        s,
        x,
        want.indexed && k === 0 ? 'u32' : x.kind === 'int' ? word : type,
        one,
      );
      if (found !== null) return found;
    }
    return want.indexed ? null : this.mixture(s, o.items);
  }

  /** Fast test for registers of exactly this type; false means that the full check decides. */
  private allPlain(items: readonly PtxOperand[], type: string, want: OperandForm): boolean {
    const bits = bitsOf(type);
    let kind = '';
    for (let k = 0; k < items.length; k++) {
      const o = items[k];
      const name = nameIn(o);
      const d = name === '' ? undefined : this.find(name);
      if (typeof d !== 'object' || d.v.space !== 'reg' || d.bits !== bits) return false;
      if (!this.plain(o, d, type, want)) return false;
      if (kind !== '' && d.kind !== '' && d.kind !== kind) return false;
      kind ||= d.kind;
    }
    return true;
  }

  private vectorFault(
    s: PtxInstr,
    o: PtxOperand & { kind: 'vector' },
    type: string,
    want: OperandForm,
    f: Fitting,
  ): OperandFault | null {
    const n = o.items.length;
    if (want.kind === 'packed' && n > 1) {
      const bits = bitsOf(type) / n;
      if (!Number.isInteger(bits) || bits < 8)
        return plainFault(`${n} parts do not make up the ${bitsOf(type)} bits of '${written(s)}'`);
      const part = { ...want, kind: 'value' as const, sink: true };
      return first(o.items, (x) => this.partFault(s, x, `b${bits}`, part)) ?? this.mixture(s, o.items);
    }
    if (want.kind === 'value' && n === f.elements && n * bitsOf(type) <= want.vector)
      if (this.allPlain(o.items, type, want)) return null;
    if (want.vector === 0 && want.kind !== 'packed')
      return this.kindFault(s, o, want.result ? 'a register' : 'one value');
    const elements = Math.max(1, f.elements);
    if (n !== elements)
      return plainFault(
        `'${written(s)}' takes ${elements === 1 ? 'one value' : `a vector of ${elements}`}, found ${n} in braces`,
      );
    if (n * bitsOf(type) > want.vector && want.vector > 0)
      return plainFault(`a vector of ${n} '.${type}' is larger than ${want.vector} bits`);
    return (
      first(o.items, (x) => this.partFault(s, x, type, { ...want, sink: want.result })) ??
      this.mixture(s, o.items)
    );
  }

  /** The fault of a vector whose registers differ in size or have incompatible types. */
  private mixture(s: PtxInstr, items: readonly PtxOperand[]): OperandFault | null {
    let size = 0;
    let kind = '';
    for (const o of items) {
      const name = nameIn(o);
      const d = name === '' ? undefined : this.find(name);
      if (typeof d !== 'object' || d.bits === 0) continue;
      if ((size !== 0 && d.bits !== size) || (kind !== '' && d.kind !== '' && d.kind !== kind))
        return fault(
          name,
          `'${name}' is .${d.v.type}: registers of one vector of '${s.opcode}' have one size, and types that go together`,
        );
      size = d.bits;
      kind ||= d.kind;
    }
    return null;
  }

  /** The fault of a single value: a register, a constant or a name. */
  private partFault(s: PtxInstr, o: PtxOperand, type: string, want: OperandForm): OperandFault | null {
    switch (o.kind) {
      case 'sink':
        return want.sink ? null : this.kindFault(s, o, want.result ? 'a register' : 'a value');
      case 'int':
      case 'float':
        return want.result || !want.constants
          ? this.kindFault(s, o, 'a register')
          : this.constantFault(s, o, type, want);
      case 'reg':
      case 'sym':
        break;
      default:
        return this.kindFault(s, o, want.result ? 'a register' : 'a register or a constant');
    }
    const d = this.find(o.name);
    if (d === undefined) return null;
    const name = o.name;
    if (o.kind === 'reg' && o.neg)
      return fault(name, `'${s.opcode}' negates no operand`, ["negate it with 'neg' before"]);
    if (o.kind === 'reg' && o.not && (type !== 'pred' || want.result))
      return fault(
        name,
        `'!${name}': only a predicate that is read can be negated`,
        want.result ? [] : ["'not' negates bits"],
      );
    if (d === 'special') {
      if (want.result) return fault(name, `'${name}' can only be read`);
      if (want.kind === 'moved' || want.special) return specialFault(s, name, type, want);
      return fault(name, `'${s.opcode}' takes no special register`, ["read it with 'mov' before"]);
    }
    if (typeof d === 'string' || d.v.space !== 'reg') {
      if (d === 'label') return fault(name, `'${name}' is a label, but '${s.opcode}' takes a value there`);
      if (want.result) return this.kindFault(s, o, 'a register');
      if (want.kind !== 'moved' && want.kind !== 'packed' && want.kind !== 'address')
        return fault(name, `'${name}' is not a register`, [`read its address with 'mov', or it with 'ld'`]);
      if (kindOf(type) !== '' && kindOf(type) !== 'i')
        return fault(name, `the address of '${name}' is not a '.${type}'`);
      return want.kind === 'address' && typeof d === 'object' ? spaceOf(s, d) : null;
    }
    if (o.kind === 'sym' && o.offset !== 0n && want.result)
      return fault(name, `'${written(s)}' takes a register there, not '${name}' with an offset`);
    const part = partOf(o);
    return want.kind === 'chosen' && part !== '' ? null : this.registerFault(s, name, part, d, type, want);
  }

  private registerFault(
    s: PtxInstr,
    name: string,
    part: string,
    d: Declared,
    type: string,
    want: OperandForm,
  ): OperandFault | null {
    const bits = bitsOf(type);
    const { v } = d;
    if (part !== '' && !(v.vector > 1 && /^[xyzwrgba]$/.test(part)))
      return fault(name, `'${name}' has no part '.${part}' in '${s.opcode}'`);
    let have = d.bits;
    if (v.vector > 1 && part === '') {
      if (want.kind !== 'packed')
        return fault(name, `'${name}' is a vector, but '${s.opcode}' takes one value there`, [
          `'${name}.x' is its first element`,
        ]);
      have *= v.vector;
    }
    if (bits === 0) return null;
    const right = have === bits || (want.larger && have > bits && bits > 1);
    if (right && agree(d.kind, kindOf(type), want)) return null;
    const size = bits === 1 ? 'a predicate' : `${bits} bits${right ? ` of .${type}` : ''}`;
    const least = want.larger ? 'at least ' : '';
    return fault(name, `'${name}' is .${v.type}, but '${s.opcode}' takes ${least}${size} there`);
  }

  private constantFault(
    s: PtxInstr,
    o: PtxOperand & { kind: 'int' | 'float' },
    type: string,
    want: OperandForm,
  ): OperandFault | null {
    const kind = kindOf(type);
    if (o.kind === 'int') {
      if (kind === 'f32' || kind === 'f64')
        return plainFault(`'${written(s)}' takes no integer constant`, [
          `${o.value} as a floating-point constant is ${o.value}.0`,
        ]);
      if (kind !== '' && kind !== 'i') return plainFault(`'${written(s)}' takes no constant`);
      return rangeFault(s, o, want.range);
    }
    const bits = bitsOf(type);
    const fits = kind === 'f32' || kind === 'f64' || (kind === '' && o.width === bits);
    return fits ? null : plainFault(`'${written(s)}' takes no floating-point constant there`);
  }

  private kindFault(s: PtxInstr, o: PtxOperand, wanted: string): OperandFault {
    const name = nameIn(o);
    return fault(name, `'${written(s)}' takes ${wanted} there, not ${describe(o)}`);
  }
}

/**
 * Are these texture coordinates padded to a longer vector? Older PTX writes four for any geometry, and surplus elements are ignored (PTX
 * ISA 9.0, tex; ptxas 13.0.88 accepts two and four).
 */
const isPadded = (s: PtxInstr, o: PtxOperand, count: number): o is PtxOperand & { readonly kind: 'vector' } =>
  s.opcode === 'tex' &&
  o.kind === 'vector' &&
  count > 0 &&
  o.items.length > count &&
  (o.items.length === 2 || o.items.length === 4);

const typeOf = (want: OperandForm, f: Fitting): string =>
  typeof want.type === 'string' ? want.type : want.type < 0 ? '' : f.types[want.type];

/**
 * Are two kinds of types compatible? Integers are with integers, a floating-point type with itself, bits with all types; `.f16x2` is also
 * with an integer type that the spelling names.
 */
const agree = (have: string, want: string, { type }: OperandForm): boolean =>
  have === '' ||
  want === '' ||
  have === want ||
  (have === 'f16x2' && want === 'i' && typeof type === 'number');

function countFault(s: PtxInstr, fitting: readonly Fitting[]): string {
  const counts = fitting.flatMap(({ form }) => [form.fewest, form.operands.length]);
  const fewest = Math.min(...counts);
  const most = Math.max(...counts);
  const wanted = fewest === most ? `${fewest}` : `${fewest} to ${most}`;
  return `'${s.opcode}' takes ${wanted} operands, found ${s.operands.length}`;
}

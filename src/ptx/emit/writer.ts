import { Mod } from '../../ir/opcode.ts';
import {
  FILE_WIDTH,
  Kind,
  makeReg,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  regFile,
  regIndex,
} from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { Unsupported } from '../../ir/unsupported.ts';

/** By register file: prefix of its names in PTX, and the type with which they are declared. */
const FILES: readonly (readonly [name: string, type: string])[] = [
  ['%r', 'b32'],
  ['%rd', 'b64'],
  ['%p', 'pred'],
  ['%ur', 'b32'],
  ['%urd', 'b64'],
  ['%up', 'pred'],
  ['%rq', 'b128'],
  ['%b', 'b32'],
];

/** Register file of a temporary by its letter in a template. Halves (`h`) and bytes (`b`) have no file in Ori. */
const TEMP_FILE: Readonly<Record<string, number>> = {
  t: RegFile.R,
  w: RegFile.RD,
  p: RegFile.P,
  q: RegFile.RQ,
};

/** Types whose constants may be operands; constants of other types need a register. */
const LITERAL: ReadonlySet<string> = new Set([
  's32',
  'u32',
  'b32',
  's64',
  'u64',
  'b64',
  'f32',
  'f64',
  'xf32',
  'byte',
]);

const hex = (v: number, digits: number): string => (v >>> 0).toString(16).toUpperCase().padStart(digits, '0');

/**
 * Collects the lines of one function's body and the registers that they use. R12 is `%r12`; temporaries have numbers after those of Ori's
 * registers.
 */
export class Writer {
  readonly fn: Fn;
  readonly out: string[] = [];
  /** Lines that precede all others. */
  readonly atEntry: string[] = [];
  /** Registers loaded by these lines from the constant bank, by bank, offset and width. */
  private readonly parameters = new Map<string, string>();
  /** Registers to declare, by file: one more than the greatest index used. */
  private readonly counts: number[] = FILES.map(() => 0);
  private halves = 0;
  private lastHalf = -1;
  private bytes = 0;
  private readonly floats = { f: 0, d: 0 };
  private next: number;
  private readonly base: number;

  /** Prefixes of register names: by file, and for halves of Ori registers, temporary halves, bytes and floats. */
  private readonly prefixes: readonly string[];
  private readonly wordHalves: string;
  private readonly ownHalves: string;
  private readonly ownBytes: string;
  private readonly ownFloats: Readonly<Record<'f' | 'd', string>>;

  /** Is an Ori register a 16-bit register in PTX? */
  private readonly isHalf: (r: Reg) => boolean;
  /** Whether sources of 32 bits are read as their low halves, in 16-bit registers. */
  takesHalves = false;

  /**
   * @param paramBase offset of kernel parameters in constant bank 0
   * @param isHalf whether an Ori register is a 16-bit register in PTX
   * @param others names of variables, parameters and labels that registers must not have
   */
  constructor(fn: Fn, paramBase: number, isHalf: (r: Reg) => boolean, others: readonly string[] = []) {
    const free = (prefix: string): string =>
      others.some((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
        ? free(`${prefix}_`)
        : prefix;
    this.prefixes = FILES.map(([name]) => free(name));
    this.wordHalves = free('%rh');
    this.ownHalves = free('%h');
    this.ownBytes = free('%b');
    this.ownFloats = { f: free('%f'), d: free('%fd') };
    this.fn = fn;
    this.isHalf = isHalf;
    this.next = fn.regCount;
    this.base = paramBase;
  }

  /** The PTX name of a register; it will be declared. */
  name(r: Reg): string {
    const file = regFile(r);
    const index = regIndex(r);
    if (this.isHalf(r)) {
      this.lastHalf = Math.max(this.lastHalf, index);
      return this.wordHalves + index;
    }
    if (index >= this.counts[file]) this.counts[file] = index + 1;
    return this.prefixes[file] + index;
  }

  /** The name of a new temporary, by its letter in a template: t, w, p, q, h or b. */
  temp(letter: string): string {
    if (letter === 'h') return this.ownHalves + this.halves++;
    if (letter === 'b') return this.ownBytes + this.bytes++;
    const file = TEMP_FILE[letter];
    const index = this.next++;
    this.counts[file] = index + 1;
    return this.prefixes[file] + index;
  }

  /** The name of a new register of type .f32 or .f64, for places that require this type and not just its size. */
  float(bits: number): string {
    const letter = bits > 32 ? 'd' : 'f';
    return this.ownFloats[letter] + this.floats[letter]++;
  }

  /** A new register of a file. */
  register(file: number): Reg {
    return makeReg(this.next++, file);
  }

  /** Letter of a temporary that can hold the value of a register. */
  letterOf(r: Reg): string {
    const file = regFile(r);
    if (file === RegFile.P || file === RegFile.UP) return 'p';
    if (file === RegFile.RD || file === RegFile.URD) return 'w';
    return this.isHalf(r) ? 'h' : 't';
  }

  /** Moves half of a word to a new 16-bit register. */
  halfOf(word: string, upper: boolean): string {
    const t = this.temp('h');
    this.takeHalf(t, word, upper, '');
    return t;
  }

  /** Moves half of a word to a 16-bit register. */
  takeHalf(to: string, word: string, upper: boolean, guard: string): void {
    const other = this.temp('h');
    this.line(`${guard}mov.b32 {${upper ? `${other}, ${to}` : `${to}, ${other}`}}, ${word}`);
  }

  /** Appends a line, without its `;`. */
  line(text: string): void {
    this.out.push(`\t${text};`);
  }

  /** Declarations of the registers used. Convergence barriers (file B) do not occur in PTX. */
  declarations(): string[] {
    const out: string[] = [];
    for (const [file, [, type]] of FILES.entries())
      if (this.counts[file] > 0 && file !== RegFile.B)
        out.push(`\t.reg .${type} ${this.prefixes[file]}<${this.counts[file]}>;`);
    if (this.lastHalf >= 0) out.push(`\t.reg .b16 ${this.wordHalves}<${this.lastHalf + 1}>;`);
    if (this.halves > 0) out.push(`\t.reg .b16 ${this.ownHalves}<${this.halves}>;`);
    if (this.bytes > 0) out.push(`\t.reg .b8 ${this.ownBytes}<${this.bytes}>;`);
    if (this.floats.f > 0) out.push(`\t.reg .f32 ${this.ownFloats.f}<${this.floats.f}>;`);
    if (this.floats.d > 0) out.push(`\t.reg .f64 ${this.ownFloats.d}<${this.floats.d}>;`);
    return out;
  }

  /** Moves a value to a new register. */
  private held(width: number, text: string, type = `b${width}`): string {
    const t = this.temp(width > 32 ? 'w' : 't');
    this.line(`mov.${type} ${t}, ${text}`);
    return t;
  }

  /**
   * The text of a source operand. Modifiers, and constants that the instruction does not accept, are computed by preceding lines.
   *
   * @param width width of the slot in bits
   * @param type type of the slot; 'reg': only a register is allowed; 'sym': a symbol is allowed
   * @param mods modifiers to apply
   * @throws Unsupported if the operand has no value or its modifiers cannot be applied
   */
  value(o: Operand, width: number, type: string, mods: number): string {
    if (this.takesHalves && width === 32) return this.half(o, type, mods);
    switch (o.kind) {
      case Kind.Reg:
        if (this.isHalf(o.reg)) return this.modifiedHalf(this.name(o.reg), type, mods);
        return this.modified(this.name(o.reg), FILE_WIDTH[regFile(o.reg)], type, mods);
      case Kind.Imm: {
        if (width > 64) return this.wide(o);
        const v = constant(o, width, type, mods);
        if (type === 'reg' || !LITERAL.has(type))
          return this.held(width, literal(v.lo, v.hi, width > 32 ? 'b64' : 'b32'));
        return literal(v.lo, v.hi, type);
      }
      case Kind.CBank:
        return this.modified(this.parameter(o, width), width, type, mods);
      case Kind.Sym: {
        const text = plus(o.sym, o.lo);
        return type === 'reg' ? this.held(width, text) : text;
      }
      default:
        throw new Unsupported('found an address where a value is expected');
    }
  }

  /** The low half of a source, in a 16-bit register. */
  private half(o: Operand, type: string, mods: number): string {
    switch (o.kind) {
      case Kind.Reg: {
        const word = this.name(o.reg);
        return this.modifiedHalf(this.isHalf(o.reg) ? word : this.halfOf(word, false), type, mods);
      }
      case Kind.Imm: {
        const t = this.temp('h');
        this.line(`mov.b16 ${t}, ${constant(o, 32, type, mods).lo & 0xffff}`);
        return t;
      }
      case Kind.CBank:
        return this.modifiedHalf(this.halfOf(this.parameter(o, 32), false), type, mods);
      default:
        throw new Unsupported('found an address where a half is expected');
    }
  }

  private modifiedHalf(r: string, type: string, mods: number): string {
    if (mods === 0) return r;
    if (!/^b?f16(x2)?$/.test(type) || (mods & Mod.Not) !== 0)
      throw new Unsupported(`a half has no modifier of type ${type}`);
    // For scalar types the sign is changed as a bit, as it is in words (`BITWISE`).
    const named = BITWISE[type] === undefined ? type.replace('x2', '') : null;
    const step = (op: string, v: string, bits: string): string => {
      const t = this.temp('h');
      this.line(named === null ? `${bits.replace('$', `${t}, ${v}`)}` : `${op}.${named} ${t}, ${v}`);
      return t;
    };
    let v = r;
    if ((mods & Mod.Abs) !== 0) v = step('abs', v, 'and.b16 $, 32767');
    if ((mods & Mod.Neg) !== 0) v = step('neg', v, 'xor.b16 $, -32768');
    return v;
  }

  /** A register with a value of the constant bank. A value at a constant offset is loaded once, at the entry of the function. */
  private parameter(o: Operand, width: number): string {
    const load = (t: string): string => `ld.param.b${width} ${t}, [${this.address(o)}]`;
    if (o.reg !== NO_REG) {
      const t = this.temp(width > 32 ? 'w' : 't');
      this.line(load(t));
      return t;
    }
    const place = `${o.hi} ${o.lo} ${width}`;
    let t = this.parameters.get(place);
    if (t === undefined) {
      t = this.temp(width > 32 ? 'w' : 't');
      this.atEntry.push(`\t${load(t)};`);
      this.parameters.set(place, t);
    }
    return t;
  }

  private wide(o: Operand): string {
    const lo = this.held(64, literal(o.lo, o.hi, 'b64'));
    const index = this.next++;
    this.counts[RegFile.RQ] = index + 1;
    const name = this.prefixes[RegFile.RQ] + index;
    this.line(`mov.b128 ${name}, {${lo}, ${this.held(64, '0')}}`);
    return name;
  }

  private modified(r: string, width: number, type: string, mods: number): string {
    if (mods === 0) return r;
    const step = (op: string): string => {
      const t = this.temp(width > 32 ? 'w' : 't');
      this.line(`${op.replace('$', t)}`);
      return t;
    };
    let v = r;
    if ((mods & Mod.Not) !== 0) v = step(`not.b${width} $, ${v}`);
    const named = isFloat(type) ? type : `s${width}`;
    const sign = BITWISE[type];
    if ((mods & Mod.Abs) !== 0)
      v = step(sign === undefined ? `abs.${named} $, ${v}` : `and.b32 $, ${v}, ${~sign}`);
    if ((mods & Mod.Neg) !== 0)
      v = step(sign === undefined ? `neg.${named} $, ${v}` : `xor.b32 $, ${v}, ${sign}`);
    return v;
  }

  /** The text of a predicate source. @param not whether the place accepts a `!` */
  predicate(o: Operand, not: boolean, mods: number): string {
    const inverted = (mods & Mod.Not) !== 0;
    if (o.kind === Kind.Imm) {
      const t = this.temp('p');
      this.line(`mov.pred ${t}, ${((o.lo & 1) === 1) !== inverted ? -1 : 0}`);
      return t;
    }
    const r = this.name(o.reg);
    if (!inverted) return r;
    if (not) return `!${r}`;
    const t = this.temp('p');
    this.line(`not.pred ${t}, ${r}`);
    return t;
  }

  /** The text between the brackets of an address. */
  address(o: Operand): string {
    if (o.kind === Kind.CBank) return this.bank(o);
    if (o.reg !== NO_REG) return plus(this.name(o.reg), o.lo);
    if (o.sym !== '') return plus(o.sym, o.lo);
    return this.held(64, String(o.lo));
  }

  /** The address of a kernel parameter: by name and offset, or by a register with an offset in the bank. */
  private bank(o: Operand): string {
    if (o.hi !== 0) throw new Unsupported(`constant bank ${o.hi} has no place in PTX`);
    if (o.reg !== NO_REG) return this.bankAddress(this.name(o.reg), FILE_WIDTH[regFile(o.reg)], o.lo);
    const at = o.lo - this.base;
    const { params } = this.fn;
    // Offsets between or beyond parameters are relative to the preceding parameter.
    const p = params.findLast((x) => at >= x.offset) ?? params[0];
    if (p === undefined || this.fn.kind !== 'entry')
      throw new Unsupported(`c[0x0][0x${hex(o.lo, 1)}] is not a parameter of ${this.fn.name}`);
    return plus(p.name, at - p.offset);
  }

  /**
   * The address in the parameter space for an offset in constant bank 0. @param value register with the offset @param offset added to it
   */
  bankAddress(value: string, width: number, offset: number): string {
    const first = this.fn.params[0];
    if (first === undefined || this.fn.kind !== 'entry')
      throw new Unsupported(`${this.fn.name} has no parameters`);
    let v = value;
    if (width === 32) {
      v = this.temp('w');
      this.line(`cvt.u64.u32 ${v}, ${value}`);
    }
    const start = this.held(64, first.name);
    const sum = this.temp('w');
    this.line(`add.s64 ${sum}, ${v}, ${start}`);
    return plus(sum, offset - this.base - first.offset);
  }
}

const isFloat = (type: string): boolean => /^x?b?f\d/.test(type);

/**
 * Types whose sign is changed as a bit: halves in the low bits of a word, for which `neg` would need a 16-bit register, and floats whose
 * NaN keeps its sign (xf32 in templates).
 */
const BITWISE: Readonly<Record<string, number>> = { f16: 0x8000, bf16: 0x8000, xf32: 0x80000000 | 0 };

/** `base+16`, `base+-16`, `base`. */
const plus = (base: string, offset: number): string => (offset === 0 ? base : `${base}+${offset}`);

/** Sign bits of each float format, in the low and in the high word. */
const SIGN: Readonly<Record<string, readonly [number, number]>> = {
  f64: [0, 0x80000000],
  f32: [0x80000000, 0],
  xf32: [0x80000000, 0],
  f16x2: [0x80008000, 0],
  bf16x2: [0x80008000, 0],
  f16: [0x8000, 0],
  bf16: [0x8000, 0],
};

/** A constant with its modifiers applied. */
function constant(o: Operand, width: number, type: string, mods: number): { lo: number; hi: number } {
  let { lo, hi } = o;
  if (width <= 32) hi = 0;
  if ((mods & Mod.Not) !== 0) [lo, hi] = [~lo, width > 32 ? ~hi : 0];
  if (isFloat(type)) {
    const [s, t] = SIGN[type];
    if ((mods & Mod.Abs) !== 0) [lo, hi] = [lo & ~s, hi & ~t];
    if ((mods & Mod.Neg) !== 0) [lo, hi] = [lo ^ s, hi ^ t];
  } else if ((mods & Mod.Neg) !== 0) {
    const low = -lo | 0;
    if (width > 32) hi = (~hi + (low === 0 ? 1 : 0)) | 0;
    lo = low;
  }
  return { lo: lo | 0, hi: hi | 0 };
}

/** A constant in PTX: floats as bit patterns, integers in decimal. */
function literal(lo: number, hi: number, type: string): string {
  if (type === 'f32' || type === 'xf32') return `0f${hex(lo, 8)}`;
  if (type === 'f64') return `0d${hex(hi, 8)}${hex(lo, 8)}`;
  if (type.endsWith('64')) {
    const v = (BigInt(hi) << 32n) | BigInt(lo >>> 0);
    // -2^63 has no decimal literal.
    return v === -(1n << 63n) ? '0x8000000000000000' : String(v);
  }
  if (type === 'byte') return String(lo & 0xff);
  return type === 'u32' ? String(lo >>> 0) : String(lo);
}

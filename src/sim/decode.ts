import { cfgOf } from '../analysis/flow/cfg.ts';
import { postDominatorsOf } from '../analysis/flow/dominators.ts';
import { copyFn } from '../ir/edit.ts';
import { memo } from '../ir/memo.ts';
import { hasMod, modOf, type Opcode, OpFlag, type Slot, slotWidth, srcSlot } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, RegFile, regFile, regIndex } from '../ir/operand.ts';
import type { Block, Fn, Instr, Param } from '../ir/program.ts';
import { FOREIGN } from '../isa/build-foreign.ts';
import { compileLane, type LaneFn } from '../isa/lanes.ts';
import { isConstantSlot } from '../isa/meaning.ts';
import { roundsSums, runsMatrix } from './matrix-names.ts';
import { withoutPhis } from './ssa.ts';

/** One decoded instruction. */
export interface Decoded {
  readonly ins: Instr;
  /** Generated code for pure instructions; null for primitives. */
  readonly lane: LaneFn | null;
  readonly primitive: string;
  /** Index of the instruction's first operand in `Code.operands`. */
  readonly k: number;
  /** Place of the guard in the predicate file; -1 if there is none. */
  readonly guard: number;
  readonly guardNot: boolean;
  /** Branch target as an instruction number; -1 if there is none. */
  readonly target: number;
  readonly table: readonly number[] | null;
  /** Instruction number where paths that diverge here reconverge; -1: at the end of the function, or at a convergence barrier. */
  readonly join: number;
  readonly block: number;
  /** Index of the source operand that holds the member mask; -1 if there is none. */
  readonly members: number;
  /** True for a matrix operation, which all lanes of a warp execute together. */
  readonly matrix: boolean;
  /** True for a barrier at which the whole warp arrives together. */
  readonly aligned: boolean;
  /** What a load or store moves per lane; null for other instructions. */
  readonly access: AccessShape | null;
  /** True if the result is an approximation, whose last bits PTX leaves open. */
  readonly approximate: boolean;
  /** Indices of the results in uniform registers, which the warp holds once; null if there are none. */
  readonly uniform: readonly number[] | null;
}

/** Shape of an access: `n` elements of `type`, `size` bytes each. */
export interface AccessShape {
  readonly type: string;
  readonly size: number;
  readonly n: number;
}

const SIZE: Readonly<Record<string, number>> = { U8: 1, S8: 1, U16: 2, S16: 2, B32: 4, B64: 8, B128: 16 };
const COUNT: Readonly<Record<string, number>> = { V1: 1, V2: 2, V4: 4, V8: 8 };

function accessOf({ op, mods }: Instr): AccessShape | null {
  if (op.primitive !== 'load' && op.primitive !== 'store') return null;
  const type = modOf(op, mods, 'type');
  return { type, size: SIZE[type], n: COUNT[modOf(op, mods, 'vec')] };
}

/** Modifiers that make a division approximate (PTX ISA 9.0, div). */
const ROUGH: readonly string[] = ['APPROX', 'FULL'];

/**
 * True if the last bits of a result are unspecified: an approximation, a product or sum without rounding modifier, which may be fused with
 * another operation (PTX ISA 9.0, mul and add), or a carried matrix product whose sums round in any order.
 */
export const isRough = ({ op, mods, src }: Instr): boolean =>
  (op.flags & OpFlag.Approximate) !== 0 ||
  ROUGH.some((m) => hasMod(op, mods, m)) ||
  hasMod(op, mods, 'CONTRACT') ||
  (op.primitive === FOREIGN && roundsSums(nameOf(src)));

/** PTX name, with modifiers, of the instruction that a foreign instruction carries. */
const nameOf = (src: Instr['src']): string => src[0].sym.split(' ', 1)[0];

/** A place in the register image that each run fills with a value from the constant bank or the address of a symbol. */
export interface Fixup {
  readonly at: number;
  readonly wide: boolean;
  readonly operand: Operand;
}

/** A function ready to run: its instructions in one flat list, its registers at offsets into one image of 32-bit words. */
export interface Code {
  readonly fn: Fn;
  readonly ins: readonly Decoded[];
  readonly operands: Int32Array;
  /** Size of the register image in words, constants included. */
  readonly words: number;
  /** Size of the predicate file in words: one word per predicate, 32 (one per lane) per barrier register. */
  readonly preds: number;
  /** The initial register image: constants in place, `value` in every other word. */
  imageWith(value: number): Int32Array;
  readonly predImage: Int32Array;
  readonly fixups: readonly Fixup[];
  /** Place of a register: a word of the image or, for predicates and barrier registers, of the predicate file. */
  placeOf(r: Reg): number;
  /** Offsets of call parameters in the frame's parameter memory, and the size of that memory for one lane. */
  readonly params: ReadonlyMap<string, number>;
  readonly paramBytes: number;
  /** Offsets of local variables, and the size of a lane's local memory in bytes. */
  readonly locals: ReadonlyMap<string, number>;
  readonly localBytes: number;
}

/** Splits blocks after control instructions that are not at their end. @returns the same function if there are none */
function flatten(fn: Fn): Fn {
  let next = fn.blockCount;
  let changed = false;
  const blocks: Block[] = [];
  for (const b of fn.blocks) {
    let id = b.id;
    let from = 0;
    for (let i = 0; i < b.ins.length - 1; i++)
      if ((b.ins[i].op.flags & OpFlag.Control) !== 0) {
        blocks.push({ id, name: b.name, ins: b.ins.slice(from, i + 1) });
        id = next++;
        from = i + 1;
        changed = true;
      }
    blocks.push(from === 0 ? b : { id, name: b.name, ins: b.ins.slice(from) });
  }
  return changed ? copyFn(fn, blocks, fn.regCount, next, fn.tables) : fn;
}

/** Decodes a function; the result is cached for each snapshot. */
export const decode: (fn: Fn) => Code = memo(build);

/** Words of the register image for a register of each file, by number of the file; 0 for files held as predicates. */
const WORDS: readonly number[] = [32, 64, 0, 32, 64, 0, 128, 0];

/** Places of the registers and constants of a function in its register image and predicate file, as they are asked for. */
class Places {
  readonly fixups: Fixup[] = [];
  words = 0;
  /** Predicate 0 is constant false, predicate 1 constant true. */
  preds = 2;
  private readonly place: Int32Array;
  private readonly constants = new Map<string, { at: number; wide: boolean; lo: number; hi: number }>();
  private readonly fixed = new Map<string, number>();

  constructor(regCount: number) {
    this.place = new Int32Array(regCount).fill(-1);
  }

  register(r: Reg): number {
    const { place } = this;
    const i = regIndex(r);
    if (place[i] >= 0) return place[i];
    const file = regFile(r);
    if (file === RegFile.P || file === RegFile.UP) place[i] = this.preds++;
    else if (file === RegFile.B) {
      place[i] = this.preds;
      this.preds += 32;
    } else {
      place[i] = this.words;
      this.words += WORDS[file];
    }
    return place[i];
  }

  /** The place of an operand that slot `slot` of the instruction takes; for a predicate constant, the place that holds it. */
  operand(o: Operand, slot: Slot, width: number): number {
    const wide = width === 64 || width === 0;
    if (slot.bank === 'p' && o.kind === Kind.Imm) return o.lo & 1;
    if (o.kind === Kind.Reg || o.kind === Kind.Addr || (o.kind === Kind.CBank && o.reg !== NO_REG))
      return o.reg === NO_REG ? -1 : this.register(o.reg);
    if (o.kind === Kind.Imm) return this.constant(o, wide);
    if (o.kind === Kind.CBank || o.kind === Kind.Sym) return this.fixup(o, wide);
    return -1;
  }

  private constant(o: Operand, wide: boolean): number {
    const key = `${wide ? 'w' : 'n'}${o.lo},${o.hi}`;
    let c = this.constants.get(key);
    if (c === undefined) {
      c = { at: this.words, wide, lo: o.lo, hi: o.hi };
      this.words += wide ? 64 : 32;
      this.constants.set(key, c);
    }
    return c.at;
  }

  private fixup(o: Operand, wide: boolean): number {
    const key = `${o.kind}|${wide}|${o.lo}|${o.hi}|${o.sym}`;
    let at = this.fixed.get(key);
    if (at === undefined) {
      at = this.words;
      this.words += wide ? 64 : 32;
      this.fixed.set(key, at);
      this.fixups.push({ at, wide, operand: o });
    }
    return at;
  }

  /** A register image of `size` words: constants in their places, `value` in all others. */
  image(size: number, value: number): Int32Array {
    const image = new Int32Array(size).fill(value);
    for (const c of this.constants.values())
      for (let l = 0; l < 32; l++)
        if (c.wide) {
          image[c.at + 2 * l] = c.lo;
          image[c.at + 2 * l + 1] = c.hi;
        } else image[c.at + l] = c.lo;
    return image;
  }
}

function build(original: Fn): Code {
  const fn = flatten(withoutPhis(original));
  const places = new Places(fn.regCount);
  const { ins, operands } = decodeBlocks(fn, places);
  for (const p of [...fn.params, ...fn.returns]) if (p.reg !== NO_REG) places.register(p.reg);
  const words = (places.words + 1) & ~1;
  places.words = words;
  const predImage = new Int32Array(places.preds);
  predImage[1] = -1;
  return {
    fn,
    ins,
    operands: Int32Array.from(operands),
    words,
    preds: places.preds,
    imageWith: (value) => places.image(words, value),
    predImage,
    fixups: places.fixups,
    placeOf: (r) => places.register(r),
    ...frameOf(fn),
  };
}

function decodeBlocks(fn: Fn, places: Places): { ins: Decoded[]; operands: number[] } {
  const cfg = cfgOf(fn);
  const post = postDominatorsOf(fn);
  // In a function with convergence barriers, lanes reconverge nowhere else.
  const barriers = fn.blocks.some((b) => b.ins.some((x) => x.op.primitive === 'convergence'));
  const start = new Int32Array(fn.blocks.length + 1);
  fn.blocks.forEach((b, i) => {
    start[i + 1] = start[i] + b.ins.length;
  });
  // An empty block starts where its successor in layout starts.
  const startOfId = (id: number) => start[cfg.positionOf[id]];
  const operands: number[] = [];
  const ins: Decoded[] = [];
  fn.blocks.forEach((b, bi) => {
    const up = post.idom[bi];
    const join = barriers || up < 0 || up >= fn.blocks.length ? -1 : start[up];
    for (const x of b.ins) {
      const k = operands.length;
      const { op } = x;
      for (const r of x.dst) operands.push(r === NO_REG ? -1 : places.register(r));
      for (let i = 0; i < x.src.length; i++) {
        const slot = srcSlot(op, i)!;
        operands.push(places.operand(x.src[i], slot, slotWidth(op, x.mods, slot)));
      }
      let target = -1;
      let table: number[] | null = null;
      for (const o of x.src) {
        if (o.kind === Kind.Label) target = startOfId(o.lo);
        else if (o.kind === Kind.Table) table = (fn.tables[o.lo] ?? []).map(startOfId);
      }
      ins.push({
        ins: x,
        lane: op.primitive === null ? lane(op, x) : null,
        primitive: op.primitive ?? '',
        k,
        guard: x.guard === NO_REG ? -1 : places.register(x.guard),
        guardNot: x.guardNot,
        target,
        table,
        join,
        block: b.id,
        members: (op.flags & OpFlag.Convergent) === 0 ? -1 : op.srcs.findIndex((s) => s.name === 'mask'),
        matrix: op.primitive === FOREIGN && runsMatrix(nameOf(x.src)),
        access: accessOf(x),
        aligned: op.primitive === 'barrier' && modOf(op, x.mods, 'aligned') === 'ALIGNED',
        approximate: isRough(x),
        uniform: uniformResults(x.dst),
      });
    }
  });
  return { ins, operands };
}

/** Where the parameters, results and local variables of a function are in its frame. */
function frameOf(fn: Fn): Pick<Code, 'params' | 'paramBytes' | 'locals' | 'localBytes'> {
  const params = new Map<string, number>();
  const locals = new Map<string, number>();
  let paramBytes = 0;
  let localBytes = 0;
  const add = (m: Map<string, number>, at: number, name: string, size: number, align: number): number => {
    const a = Math.max(align, 8);
    const o = Math.ceil(at / a) * a;
    m.set(name, o);
    return o + size;
  };
  for (const p of [...fn.params, ...fn.returns])
    paramBytes = add(params, paramBytes, p.name, roomOf(p), p.align);
  for (const v of fn.variables)
    if (v.space === 'param') paramBytes = add(params, paramBytes, v.name, v.size, v.align);
    else localBytes = add(locals, localBytes, v.name, v.size, Math.max(16, v.align));
  return {
    params,
    paramBytes: Math.ceil(paramBytes / 16) * 16,
    locals,
    localBytes: Math.ceil(localBytes / 16) * 16,
  };
}

/**
 * Bytes reserved for a parameter of a function. The last one may be an array without a size, which the arguments determine (PTX ISA 9.0,
 * .func); it gets 4096 bytes, the former limit on all parameters of a kernel.
 */
export const roomOf = (p: Param): number => (p.size === 0 && p.reg === NO_REG ? 4096 : p.size);

function lane(op: Opcode, x: Instr): LaneFn {
  let wanted = 0;
  x.dst.forEach((r, i) => {
    if (r !== NO_REG) wanted |= 1 << i;
  });
  return compileLane({
    op,
    mods: x.mods,
    srcMods: x.src.map((o) => o.mods),
    wanted,
    consts: op.srcs.map((s, i) => (isConstantSlot(s) ? x.src[i].lo : null)),
  });
}

const isUniform = (r: Reg): boolean =>
  r !== NO_REG && (regFile(r) === RegFile.UR || regFile(r) === RegFile.URD || regFile(r) === RegFile.UP);

/** Indices of the results that are uniform registers; null if there are none. */
function uniformResults(dst: readonly Reg[]): readonly number[] | null {
  if (!dst.some(isUniform)) return null;
  return dst.flatMap((r, k) => (isUniform(r) ? [k] : []));
}

import { cfgOf } from '../analysis/flow/cfg.ts';
import { postDominatorsOf } from '../analysis/flow/dominators.ts';
import { copyFn } from '../ir/edit.ts';
import { hasMod, modOf, type Opcode, OpFlag, slotWidth, srcSlot } from '../ir/opcode.ts';
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
  /** Start of its operand places in `Code.operands`. */
  readonly k: number;
  /** Place of the guard in the predicate file, -1 for none. */
  readonly guard: number;
  readonly guardNot: boolean;
  /** Branch target or targets, as instruction numbers. */
  readonly target: number;
  readonly table: readonly number[] | null;
  /** Where paths that diverge here reconverge; -1: at the end of the function, or where they wait at a convergence barrier. */
  readonly join: number;
  readonly block: number;
  /** The source that holds the member mask; -1 if there is none. */
  readonly members: number;
  /** Whether it is an operation on matrices, which all lanes of a warp execute together. */
  readonly matrix: boolean;
  /** Whether this is a barrier at which the whole warp arrives together. */
  readonly aligned: boolean;
  /** What a load or a store moves for a lane; null for other instructions. */
  readonly access: AccessShape | null;
  /** Whether the result is an approximation, whose last bits nobody promises. */
  readonly approximate: boolean;
  /** Numbers of the results that the warp has once; null if there are none. */
  readonly uniform: readonly number[] | null;
}

/** So many elements of a type, and the bytes of one. */
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

/** What a division that is an approximation is called (PTX ISA 9.0, div). */
const ROUGH: readonly string[] = ['APPROX', 'FULL'];

/**
 * Whether nobody promises the last bits of a result: it is an approximation, or a product or sum that may be fused with another one (PTX
 * ISA 9.0, mul and add without a rounding).
 */
export const isRough = ({ op, mods, src }: Instr): boolean =>
  (op.flags & OpFlag.Approximate) !== 0 ||
  ROUGH.some((m) => hasMod(op, mods, m)) ||
  hasMod(op, mods, 'CONTRACT') ||
  (op.primitive === FOREIGN && roundsSums(nameOf(src)));

/** Name of the PTX that an instruction carries. */
const nameOf = (src: Instr['src']): string => src[0].sym.split(' ', 1)[0];

/** A place in the register image that the launch fills with a constant bank value or the address of a symbol. */
export interface Fixup {
  readonly at: number;
  readonly wide: boolean;
  readonly operand: Operand;
}

/** A function ready to run: instructions in a flat list, registers at places in one image of 32-bit words. */
export interface Code {
  readonly fn: Fn;
  readonly ins: readonly Decoded[];
  readonly operands: Int32Array;
  /** Words of the register image, including constants. */
  readonly words: number;
  /** Words of the predicate file: one for each predicate, and for each barrier register one for each lane. */
  readonly preds: number;
  /** The image, with a value in all registers. */
  imageWith(value: number): Int32Array;
  readonly predImage: Int32Array;
  readonly fixups: readonly Fixup[];
  /** Place of a register. */
  placeOf(r: Reg): number;
  /** Offsets of call parameters in the frame's parameter memory, and its size for one lane. */
  readonly params: ReadonlyMap<string, number>;
  readonly paramBytes: number;
  /** Offsets of local variables, and bytes of local memory. */
  readonly locals: ReadonlyMap<string, number>;
  readonly localBytes: number;
}

/** The function with its blocks split after control instructions, if these occur inside blocks. */
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

const cache = new WeakMap<Fn, Code>();

/** Decodes a function, once for each snapshot. */
export function decode(fn: Fn): Code {
  let c = cache.get(fn);
  if (c === undefined) {
    c = build(fn);
    cache.set(fn, c);
  }
  return c;
}

const WORDS: readonly number[] = [32, 64, 0, 32, 64, 0, 128, 0];

function build(original: Fn): Code {
  const fn = flatten(withoutPhis(original));
  const place = new Int32Array(fn.regCount).fill(-1);
  // Slot 0 of the predicates is false, slot 1 true.
  let preds = 2;
  let words = 0;
  const placeOf = (r: Reg): number => {
    const i = regIndex(r);
    if (place[i] >= 0) return place[i];
    const file = regFile(r);
    if (file === RegFile.P || file === RegFile.UP) place[i] = preds++;
    else if (file === RegFile.B) {
      place[i] = preds;
      preds += 32;
    } else {
      place[i] = words;
      words += WORDS[file];
    }
    return place[i];
  };
  const constants = new Map<string, { at: number; wide: boolean; lo: number; hi: number }>();
  const fixups: Fixup[] = [];
  const fixed = new Map<string, number>();
  const constantPlace = (o: Operand, wide: boolean): number => {
    const key = `${wide ? 'w' : 'n'}${o.lo},${o.hi}`;
    let c = constants.get(key);
    if (c === undefined) {
      c = { at: words, wide, lo: o.lo, hi: o.hi };
      words += wide ? 64 : 32;
      constants.set(key, c);
    }
    return c.at;
  };
  const fixupPlace = (o: Operand, wide: boolean): number => {
    const key = `${o.kind}|${wide}|${o.lo}|${o.hi}|${o.sym}`;
    let at = fixed.get(key);
    if (at === undefined) {
      at = words;
      words += wide ? 64 : 32;
      fixed.set(key, at);
      fixups.push({ at, wide, operand: o });
    }
    return at;
  };

  const cfg = cfgOf(fn);
  const post = postDominatorsOf(fn);
  // With convergence barriers nothing else brings lanes together.
  const barriers = fn.blocks.some((b) => b.ins.some((x) => x.op.primitive === 'convergence'));
  const start = new Int32Array(fn.blocks.length + 1);
  fn.blocks.forEach((b, i) => {
    start[i + 1] = start[i] + b.ins.length;
  });
  // An empty block starts where the next one does.
  const startOfId = (id: number) => start[cfg.positionOf[id]];
  const operands: number[] = [];
  const ins: Decoded[] = [];
  fn.blocks.forEach((b, bi) => {
    const up = post.idom[bi];
    const join = barriers || up < 0 || up >= fn.blocks.length ? -1 : start[up];
    for (const x of b.ins) {
      const k = operands.length;
      const { op } = x;
      for (const r of x.dst) operands.push(r === NO_REG ? -1 : placeOf(r));
      for (let i = 0; i < x.src.length; i++) {
        const o = x.src[i];
        const slot = srcSlot(op, i)!;
        const width = slotWidth(op, x.mods, slot);
        if (slot.bank === 'p' && o.kind === Kind.Imm) operands.push(o.lo & 1);
        else if (o.kind === Kind.Reg || o.kind === Kind.Addr || (o.kind === Kind.CBank && o.reg !== NO_REG))
          operands.push(o.reg === NO_REG ? -1 : placeOf(o.reg));
        else if (o.kind === Kind.Imm) operands.push(constantPlace(o, width === 64 || width === 0));
        else if (o.kind === Kind.CBank || o.kind === Kind.Sym)
          operands.push(fixupPlace(o, width === 64 || width === 0));
        else operands.push(-1);
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
        guard: x.guard === NO_REG ? -1 : placeOf(x.guard),
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
  for (const p of [...fn.params, ...fn.returns]) if (p.reg !== NO_REG) placeOf(p.reg);
  words = (words + 1) & ~1;
  const size = words;
  const imageWith = (value: number): Int32Array => {
    const image = new Int32Array(size).fill(value);
    for (const c of constants.values())
      for (let l = 0; l < 32; l++)
        if (c.wide) {
          image[c.at + 2 * l] = c.lo;
          image[c.at + 2 * l + 1] = c.hi;
        } else image[c.at + l] = c.lo;
    return image;
  };
  const predImage = new Int32Array(preds);
  predImage[1] = -1;

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
    fn,
    ins,
    operands: Int32Array.from(operands),
    words,
    preds,
    imageWith,
    predImage,
    fixups,
    placeOf,
    params,
    paramBytes: Math.ceil(paramBytes / 16) * 16,
    locals,
    localBytes: Math.ceil(localBytes / 16) * 16,
  };
}

/**
 * Bytes for a parameter of a function. The last one may be an array without a size, whose arguments give it one (PTX ISA 9.0, .func);
 * they have as much room here as all parameters of a kernel once had.
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

/** Numbers of the results that are uniform registers; null if there are none. */
function uniformResults(dst: readonly Reg[]): readonly number[] | null {
  if (!dst.some(isUniform)) return null;
  return dst.flatMap((r, k) => (isUniform(r) ? [k] : []));
}

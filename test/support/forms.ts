import { dstSlot, hasMod, Mod, type Opcode, slotWidth, srcSlot, withMods } from '../../src/ir/opcode.ts';
import {
  addr,
  cbank,
  imm,
  immPair,
  Kind,
  makeReg,
  NO_REG,
  type Operand,
  PF,
  PT,
  type Reg,
  RegFile,
  reg,
  sym,
} from '../../src/ir/operand.ts';
import { type Fn, type Instr, instr, newShape, type Program, type Variable } from '../../src/ir/program.ts';
import { testIsa } from './isa.ts';

/*
 * Kernels that run instructions one after another, each on the same inputs, and store every result: 32 threads, each with its own area of
 * inputs followed by results.
 */

const isa = testIsa();
const op = (name: string): Opcode => isa.byName.get(name)!;

/** Size in bytes of a thread's area: inputs, scratch memory, results. */
export const AREA = 8192;
export const INPUTS = 256;
const SCRATCH = 256;
const RESULTS = 512;
/** Bytes of results per instruction. */
const EACH = 48;
/** Number of instructions per kernel. */
export const BATCH = Math.floor((AREA - RESULTS) / EACH);

const base = makeReg(0, RegFile.RD);
const tid = makeReg(1, RegFile.R);
const area = makeReg(2, RegFile.RD);
const sharedArea = makeReg(3, RegFile.R);
const words = [4, 5, 6, 7].map((i) => makeReg(i, RegFile.R));
const longs = [8, 9, 10, 11].map((i) => makeReg(i, RegFile.RD));
const preds = [12, 13, 14].map((i) => makeReg(i, RegFile.P));
const quads = [15].map((i) => makeReg(i, RegFile.RQ));
const FIRST = 20;

/** A deterministic source of numbers. */
export class Numbers {
  private s: number;
  constructor(seed: number) {
    this.s = (seed * 2654435761) | 1;
  }
  below(n: number): number {
    let x = this.s;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.s = x;
    return (x >>> 0) % n;
  }
}

const variable = (name: string, space: Variable['space']): Variable => ({
  name,
  space,
  type: 'b8',
  size: 4096,
  align: 16,
  linkage: '',
  init: space === 'const' ? Uint8Array.from({ length: 4096 }, (_, k) => (k * 37) & 0xff) : null,
  relocs: [],
  attrs: [],
});

/** An instruction with random operands: registers, constants, modifiers, guards, unused results. */
export function drawn(o: Opcode, mods: number, n: Numbers, plain: boolean): Instr {
  const pick = <T>(list: readonly T[]): T => list[n.below(list.length)];
  const lanes = Number(
    /V(\d)/.exec(['V1', 'V2', 'V4', 'V8'].find((v) => hasMod(o, mods, v)) ?? '')?.[1] ?? 1,
  );
  const src: Operand[] = [];
  for (let k = 0; k < o.srcs.length + (o.srcs.at(-1)?.variadic === true ? lanes - 1 : 0); k++)
    src.push(source(o, mods, k, n, pick, plain));
  const dst: Reg[] = [];
  for (let k = 0; k < o.dsts.length + (o.dsts.at(-1)?.variadic === true ? lanes - 1 : 0); k++) {
    const slot = dstSlot(o, k)!;
    const width = slotWidth(o, mods, slot);
    if (slot.optional && !plain && n.below(4) === 0) {
      dst.push(NO_REG);
      continue;
    }
    const pool = slot.bank === 'p' ? preds : width > 64 ? quads : width > 32 ? longs : words;
    // Results that are also sources are what expansions get wrong.
    const fresh = makeReg(
      FIRST + k,
      slot.bank === 'p' ? RegFile.P : width > 64 ? RegFile.RQ : width > 32 ? RegFile.RD : RegFile.R,
    );
    dst.push(
      plain || n.below(2) === 0 || dst.includes(pool[k % pool.length])
        ? makeReg(
            (fresh >>> 3) + 10 * (pool === preds ? 1 : pool === longs ? 2 : pool === quads ? 3 : 0),
            fresh & 7,
          )
        : pool[k % pool.length],
    );
  }
  const guarded = !plain && n.below(3) === 0;
  return instr(o, mods, dst, src, 0, guarded ? pick(preds) : NO_REG, guarded && n.below(2) === 0);
}

function source(
  o: Opcode,
  mods: number,
  k: number,
  n: Numbers,
  pick: <T>(l: readonly T[]) => T,
  plain: boolean,
): Operand {
  const slot = srcSlot(o, k)!;
  const width = slotWidth(o, mods, slot);
  const takes = (kind: number) => (slot.kinds & (1 << kind)) !== 0;
  if (takes(Kind.Addr)) return address(o, k);
  if (slot.name === 'mask') return imm(-1);
  if (o.name === 'BAR')
    return slot.name === 'id'
      ? imm(1)
      : slot.name === 'n'
        ? imm(32)
        : reg(pick(preds), n.below(2) === 0 ? Mod.Not : 0);
  if (slot.name === 'n' && (o.name === 'LDGSTS' || o.name === 'DEPBAR')) return imm(n.below(5));
  if (/^(MBAR|NANOSLEEP|PMTRIG)/.test(o.name) && width <= 32) return imm(1);
  if (slot.bank === 'p') {
    if (!plain && n.below(5) === 0) return pick([PT, PF]);
    return reg(pick(preds), slot.mods !== 0 && n.below(2) === 0 ? Mod.Not : 0);
  }
  const list = [0, Mod.Neg, Mod.Abs, Mod.Neg | Mod.Abs, Mod.Not].filter((m) => (m & ~slot.mods) === 0);
  const m = plain ? 0 : pick(list);
  if (!takes(Kind.Reg) || (!plain && takes(Kind.Imm) && width <= 64 && n.below(4) === 0)) {
    const lo = pick([0, 1, -1, 2, 5, 8, 16, 31, 0x3c00, 0x80000000 | 0, 0x3f800000, n.below(0x7fffffff)]);
    if (slot.name === 'lut') return imm(n.below(256));
    if (!takes(Kind.Reg)) return imm(n.below(width === 64 ? 64 : 32));
    const constant =
      width > 32 ? immPair(lo, pick([0, -1, 0x3ff00000, 0x40080000, n.below(0x7fffffff)])) : imm(lo);
    return { ...constant, mods: takes(Kind.Reg) && /^(IADDX)$/.test(o.name) ? m & Mod.Not : 0 };
  }
  return reg(pick(width > 64 ? quads : width > 32 ? longs : words), m);
}

function address(o: Opcode, k: number): Operand {
  switch (o.name) {
    case 'LDC':
      return k === 0 ? addr(NO_REG, 16, 'constants') : cbank(0, 0);
    case 'LDL':
    case 'STL':
      return addr(NO_REG, 32, 'locals');
    case 'LDGSTS':
      return k === 0 ? addr(sharedArea, 16) : addr(area, SCRATCH);
  }
  return o.space === 'shared' ? addr(sharedArea, 16) : addr(area, SCRATCH);
}

/**
 * A kernel of the instructions `drawn` that stores their results.
 *
 * @param bits 16: only the low half of words is loaded and stored
 */
export function kernelOf(
  list: readonly Instr[],
  paramBase: number,
  name = 'forms',
  bits: 16 | 32 = 32,
): Program {
  const word = bits === 16 ? 'U16' : 'B32';
  const ins: Instr[] = [];
  const put = (
    o: string,
    mods: readonly string[],
    dst: readonly Reg[],
    src: readonly Operand[],
    guard = NO_REG,
  ) => ins.push(instr(op(o), withMods(op(o), 0, ...mods), dst, src, 0, guard));
  put('LDC', ['B64'], [base], [cbank(0, paramBase)]);
  put('S2R', ['TID.X'], [tid], []);
  put('IMAD_WIDE', ['U32'], [area], [reg(tid), imm(AREA), reg(base)]);
  put('MOV', ['B32'], [sharedArea], [sym('shareds')]);
  put('IMAD', [], [sharedArea], [reg(tid), imm(128), reg(sharedArea)]);
  for (let k = 0; k < 8; k++)
    put('STL', ['B32'], [], [addr(NO_REG, 32 + 4 * k, 'locals'), imm(k * 0x01020304)]);
  for (const [n, x] of list.entries()) {
    const at = RESULTS + n * EACH;
    words.forEach((r, k) => put('LDG', [word], [r], [addr(area, 4 * k)]));
    longs.forEach((r, k) => put('LDG', ['B64'], [r], [addr(area, 32 + 8 * k)]));
    preds.forEach((r, k) => {
      put('LDG', ['B32'], [tid], [addr(area, 64 + 4 * k)]);
      put('ISETP', ['NE', 'U32'], [r, NO_REG], [reg(tid), imm(0), PT]);
    });
    if (uses(x, quads)) put('LDG', ['B128'], [quads[0]], [addr(area, 80)]);
    const shared = x.op.space === 'shared';
    if (shared)
      for (let k = 0; k < 8; k++) put('STS', ['B32'], [], [addr(sharedArea, 16 + 4 * k), imm(k + 1)]);
    if (/^MBAR_(?!INIT)/.test(x.op.name)) put('MBAR_INIT', [], [], [addr(sharedArea, 16), imm(1)]);
    // The destinations of a guarded instruction, or of one without results, keep their values.
    for (const d of x.dst)
      if (
        d !== NO_REG &&
        !words.includes(d) &&
        !longs.includes(d) &&
        !preds.includes(d) &&
        !quads.includes(d)
      )
        start(put, d);
    ins.push(x);
    let to = at;
    for (const d of x.dst) {
      if (d === NO_REG || to + 8 > at + EACH) continue;
      const file = d & 7;
      if (file === RegFile.P) {
        put('SEL', [], [tid], [imm(1), imm(0), reg(d)]);
        put('STG', ['B32'], [], [addr(area, to), reg(tid)]);
      } else
        put(
          'STG',
          [file === RegFile.RQ ? 'B128' : file === RegFile.RD ? 'B64' : word],
          [],
          [addr(area, to), reg(d)],
        );
      to += file === RegFile.RQ ? 16 : 8;
    }
    if (shared) {
      put('DEPBAR', ['ALL'], [], [imm(0)]);
      put('LDS', ['B64'], [longs[0]], [addr(sharedArea, 16)]);
      put('STG', ['B64'], [], [addr(area, at + EACH - 8), reg(longs[0])]);
    } else if (x.op.space === 'local') {
      put('LDL', ['B64'], [longs[0]], [addr(NO_REG, 32, 'locals')]);
      put('STG', ['B64'], [], [addr(area, at + EACH - 8), reg(longs[0])]);
    }
    put('S2R', ['TID.X'], [tid], []);
  }
  put('EXIT', [], [], []);
  const fn: Fn = {
    name,
    kind: 'entry',
    params: [
      {
        name: 'p',
        type: 'u64',
        size: 8,
        align: 8,
        offset: 0,
        reg: NO_REG,
        array: false,
        ptr: '',
        pointeeAlign: 0,
      },
    ],
    returns: [],
    blocks: [{ id: 0, name: '', ins }],
    regCount: 100,
    blockCount: 1,
    variables: [variable('locals', 'local')],
    tables: [],
    shape: newShape(),
    attrs: { directives: [], pragmas: [], linkage: 'visible', noreturn: false, counts: [] },
  };
  return {
    name: 'forms',
    version: '9.0',
    target: 'sm_90',
    addressSize: 64,
    functions: [fn],
    variables: [variable('shareds', 'shared'), variable('constants', 'const')],
    prototypes: [],
    aliases: [],
    locs: [{ line: 0, file: 0, srcLine: 0, srcColumn: 0 }],
    files: [],
    skipped: [],
  };
}

const uses = (x: Instr, regs: readonly Reg[]): boolean =>
  x.dst.some((d) => regs.includes(d)) || x.src.some((o) => regs.includes(o.reg));

type Put = (o: string, mods: readonly string[], dst: readonly Reg[], src: readonly Operand[]) => void;

function start(put: Put, d: Reg): void {
  switch (d & 7) {
    case RegFile.P:
      return put('PLOP3', [], [d], [PF, PT, PT, imm(0xf0)]);
    case RegFile.RD:
      return put('MOV', ['64'], [d], [immPair(0x5a5a, 0)]);
    case RegFile.RQ:
      return put('LDG', ['B128'], [d], [addr(area, 80)]);
    default:
      return put('MOV', [], [d], [imm(0x5a5a)]);
  }
}

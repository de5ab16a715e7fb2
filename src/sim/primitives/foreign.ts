import { addressesIn, isOfStack, tiesOf, writtenPart } from '../../ir/foreign-text.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { isPredReg, Kind, NO_REG, type Operand, RegFile, regFile } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { memoByText } from '../../ir/text-memo.ts';
import type { Decoded } from '../decode.ts';
import { lowest } from '../masks.ts';
import { mix, SHARED_WINDOW } from '../memory.ts';
import type { Simulation } from '../simulation.ts';
import type { Frame, Warp } from '../state.ts';
import { showPhase } from './barrier.ts';
import { runBulk } from './bulk.ts';
import { runMemory } from './foreign-memory.ts';
import { ForeignCall } from './foreign-operands.ts';
import { runMatrix } from './matrix.ts';
import { runNarrow } from './narrow-floats.ts';
import { opnd, type Primitive, setPred } from './primitive.ts';
import { runStack } from './stack.ts';
import { keep } from './ties.ts';
import { hashOf } from './unknown-call.ts';
import { runWarpgroup } from './warpgroup.ts';

/** What the text of a foreign instruction says about its execution. */
interface Words {
  /** PTX name with modifiers. */
  readonly name: string;
  /** Hash of the text that is independent of register numbers. */
  readonly hash: number;
  /** Source operands that hold addresses, with their byte offsets. */
  readonly addresses: readonly { readonly src: number; readonly offset: number }[];
  /** Number type of the results, from the type suffix of the name; `b32` if it has none. */
  readonly type: string;
  /** True if it allocates on the stack, or moves the stack pointer. */
  readonly stack: boolean;
  /** True if it completes bytes that a barrier object expects. */
  readonly completes: boolean;
}

const wordsOf = (ins: Instr): Words => wordsIn(ins.src[0]?.kind === Kind.Text ? ins.src[0].sym : '');

const wordsIn = memoByText((text): Words => {
  const name = text.split(' ', 1)[0];
  return {
    name,
    hash: hashOf(writtenPart(text).replace(/:\w+>/g, '>')),
    addresses: addressesIn(text),
    type: /\.(?:[bsu]\d+|b?f16(?:x2)?|tf32|f32|f64)\b/.exec(name)?.[0].slice(1) ?? 'b32',
    stack: isOfStack(name),
    completes: name.includes('mbarrier::complete_tx'),
  };
});

/**
 * Carried PTX instructions. A launch runs matrix operations, accesses to a cluster's shared memory, bulk copies, barrier objects, and
 * 128-bit and vector accesses. In an open world the effect of the instruction is unknown: its results and what it stores are derived by
 * hashing from its text, its operands and the memory at its addresses, and each execution is recorded with its operands. So an optimizer
 * that drops the instruction, moves it across an access to the same memory, or changes its operands is caught.
 */
export const foreign: Primitive = (m, w, f, d, mask) => {
  const { ins } = d;
  const words = wordsOf(ins);
  if (words.stack) return runStack(new ForeignCall(m, w, f, d, mask, words.name));
  const [first] = words.addresses;
  const address = (lane: number): number => (first === undefined ? 0 : addressOf(f, d, first, lane).at);
  // All lanes of a warp must execute it (PTX ISA 9.0, 9.7.14); executed by part of a warp, it is undefined.
  if (m.opts.open && mask !== -1 && d.matrix) m.unpromised = true;
  // Data movement between registers and memory by a whole warp is executed in an open world too. Against machine code, which may take
  // several instructions for one of PTX, products are executed as well.
  if (
    m.opts.open &&
    mask === -1 &&
    (m.opts.blank === true || MOVES.test(words.name)) &&
    runMatrix({ m, w, f, d, name: words.name, address })
  )
    return;
  const whole = d.matrix && mask === -1 && (!m.opts.open || m.opts.blank === true);
  if (whole && runWarpgroup(new ForeignCall(m, w, f, d, mask, words.name))) return;
  if (!m.opts.open) {
    const l = lowest(mask);
    if (mask === -1 && runMatrix({ m, w, f, d, name: words.name, address })) return;
    const call = new ForeignCall(m, w, f, d, mask, words.name);
    if (runMemory(call) || runBulk(call) || runNarrow(call)) return;
    m.fault(`the simulator cannot run '${words.name}'${mask === -1 ? '' : ' for part of a warp'}`, d, w, l);
  }
  const { flags } = ins.op;
  // An instruction that may do anything may access any memory, not just what its address operands point to.
  const somewhere = (flags & OpFlag.Volatile) === 0;
  const reads = somewhere && (flags & OpFlag.ReadsMemory) !== 0;
  const writes = somewhere && (flags & OpFlag.WritesMemory) !== 0;
  const ties = tiesOf(ins);
  const tied = new Set(ties.map((t) => t.src));
  const unwritten = new Set(ties.filter((t) => t.unwritten).map((t) => t.src));
  const kept = new Set(ties.filter((t) => t.unwritten).map((t) => t.dst));
  const shows = (flags & OpFlag.SideEffect) !== 0;
  if (shows) m.changes++;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    m.lane = l;
    let h = mix(words.hash, m.opts.seed);
    // The addend is irrelevant if a predicate operand says that nothing is added.
    const adds = ins.src.every(
      (o, k) => !isPredicate(o) || (f.regs.p[opnd(f, d, ins.dst.length + k)] >>> l) & 1,
    );
    for (let k = 1; k < ins.src.length; k++)
      if (!unwritten.has(k) && (adds || !tied.has(k))) h = mixSource(f, d, k, l, h);
    if (reads) for (const a of words.addresses) h = mix(h, access(m, w, f, d, a, l, null));
    if (shows) m.show(w, l, h, WAITS.test(words.name));
    if (writes) for (const [k, a] of words.addresses.entries()) access(m, w, f, d, a, l, mix(h, k));
    if (words.completes) for (const a of words.addresses) complete(m, w, addressOf(f, d, a, l).at);
    ins.dst.forEach((to, k) => {
      if (to !== NO_REG && !kept.has(k)) give(f, d, k, l, mix(h, k), words.type);
    });
  }
  keep(f, d, ties, mask);
};

/** Warp-matrix operations that only move data. */
const MOVES = /^(ldmatrix|stmatrix|movmatrix)\b/;
/** Wait operations, which have no effect when repeated. */
const WAITS = /\.wait(_group)?\b/;

const isPredicate = (o: Operand): boolean => o.kind === Kind.Reg && isPredReg(o.reg);

/** Mixes the words of a source into a hash. */
function mixSource(f: Frame, d: Decoded, k: number, l: number, h: number): number {
  const at = opnd(f, d, d.ins.dst.length + k);
  const o = d.ins.src[k];
  const i = f.regs.i32;
  if (o.kind !== Kind.Reg) return at < 0 ? h : mix(mix(h, i[at + 2 * l]), i[at + 2 * l + 1]);
  switch (regFile(o.reg)) {
    case RegFile.P:
    case RegFile.UP:
      return mix(h, (f.regs.p[at] >>> l) & 1);
    case RegFile.RD:
    case RegFile.URD:
      return mix(mix(h, i[at + 2 * l]), i[at + 2 * l + 1]);
    case RegFile.RQ:
      for (let part = 0; part < 4; part++) h = mix(h, i[at + 4 * l + part]);
      return h;
    default:
      return mix(h, i[at + l]);
  }
}

type Address = Words['addresses'][number];

/** Address that a lane's operand holds; a 32-bit address lies in shared memory. */
function addressOf(f: Frame, d: Decoded, a: Address, l: number): { at: number; shared: boolean } {
  const o = d.ins.src[a.src + 1];
  const at = opnd(f, d, d.ins.dst.length + a.src + 1);
  const i = f.regs.i32;
  const narrow = o.kind === Kind.Reg && (regFile(o.reg) === RegFile.R || regFile(o.reg) === RegFile.UR);
  if (narrow) return { at: (i[at + l] + a.offset) >>> 0, shared: true };
  return { at: i[at + 2 * l + 1] * 4294967296 + (i[at + 2 * l] >>> 0) + a.offset, shared: false };
}

/** Reads the word at an address, or writes a byte-sized `value` to it. */
function access(
  m: Simulation,
  w: Warp,
  f: Frame,
  d: Decoded,
  a: Address,
  l: number,
  value: number | null,
): number {
  const { at, shared } = addressOf(f, d, a, l);
  const aligned = Math.max(0, at - (at % 4));
  const p = shared
    ? w.block.shared.place(aligned, 4, value !== null)
    : m.generic(w, l, aligned, 4, value !== null);
  if (value === null) return p.view.getInt32(p.at, true);
  p.view.setInt32(p.at, value & 0xff, true);
  return value;
}

/** Delivers the bytes that the barrier object at an address waits for. */
function complete(m: Simulation, w: Warp, address: number): void {
  const at = address >= SHARED_WINDOW ? address - SHARED_WINDOW : address;
  const b = w.block.mbarriers.get(at);
  if (b === undefined) return;
  b.unmeasured = true;
  if (b.tx === 0 || b.pending > 0) return;
  b.tx = 0;
  b.phase++;
  b.pending = b.expected;
  showPhase(m, w, at, b);
}

/** Writes a result derived from a hash: a number between one and two, or a small integer. */
function give(f: Frame, d: Decoded, k: number, l: number, h: number, type: string): void {
  const at = opnd(f, d, k);
  const i = f.regs.i32;
  switch (regFile(d.ins.dst[k])) {
    case RegFile.P:
    case RegFile.UP:
      return setPred(f, at, h & 1 ? 1 << l : 0, 1 << l);
    case RegFile.RD:
    case RegFile.URD:
      i[at + 2 * l] = type === 'f64' ? h : h & 0xfffff0;
      i[at + 2 * l + 1] = type === 'f64' ? 0x3ff00000 | (h & 0xfffff) : 0;
      return;
    case RegFile.RQ:
      for (let part = 0; part < 4; part++) i[at + 4 * l + part] = mix(h, part) & 0xff;
      return;
    default:
      i[at + l] =
        type === 'f32' || type === 'tf32'
          ? 0x3f800000 | (h & 0x7fffff)
          : /16/.test(type)
            ? h & 0x3fff3fff
            : h & 0xff;
  }
}

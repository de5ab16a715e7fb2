import { imm, label, NO_REG, type Operand, PT, type Reg, RZ, reg, table } from '../ir/operand.ts';
import { WORD_BYTES } from '../machine/text.ts';
import type { Builder } from './builder.ts';
import { physical } from './registers.ts';
import { activeLanes, syncLanes } from './warp.ts';

/*
 * Control flow. Code addresses are ordinary values: the code itself moves the return address of a call to a register, and a return jumps
 * to the address there. A jump to a register becomes a jump through a table of all possible targets.
 */

/** Maps code addresses (section base plus offset) to blocks. */
export interface Flow {
  /** Id of the block that starts at an address. @throws Unsupported if no code is there */
  blockAt(address: number): number;
  /** The jump table for a kind of jump: its first address, and its number. Entries are one instruction apart. */
  tableOf(kind: 'return' | 'branch' | 'call', at: number): { readonly first: number; readonly index: number };
}

type Meaning = (b: Builder, flow: Flow) => void;

/** Target of the operand `t`, which is relative to the next instruction. */
const targetOf = (b: Builder): number => {
  const a = b.slot('t').atom!;
  return b.at + WORD_BYTES + b.raw(a) * a.scale;
};

/** Emits a jump to a block where the guard and a predicate operand hold. */
function jump(b: Builder, flow: Flow, extra: Operand, address: number): void {
  const { guard, not } = b.condition(extra);
  b.under(guard, not, 'BRA', [], [label(flow.blockAt(address))]);
}

const branch: Meaning = (b, flow) => {
  b.without('ANY');
  const way = b.mod('way');
  // On sm_75 these forms name no mask, and waiting for lanes that have diverged may be in vain: less than a whole warp counts as diverged.
  if (way === 'DIV' || way === 'CONV') {
    if (b.truthOr('p', PT) !== PT) b.fail(`.${way} under a predicate`);
    const cmp = way === 'DIV' ? 'NE' : 'EQ';
    return jump(b, flow, reg(b.test('ISETP', [cmp, 'U32'], [activeLanes(b), imm(-1), PT])), targetOf(b));
  }
  jump(b, flow, b.truthOr('p', PT), targetOf(b));
};

/**
 * DIV jumps if lanes of a mask are diverged, to code that reconverges them; CONV jumps if they are not. The code that follows needs them
 * converged, so here the lanes wait for each other instead.
 */
const branchTogether: Meaning = (b, flow) => {
  syncLanes(b, b.integer('u'));
  if (b.mod('way') === 'CONV') jump(b, flow, b.truthOr('p', PT), targetOf(b));
};

/** BRA with a uniform predicate, which must hold too. */
const branchUniform: Meaning = (b, flow) => {
  b.without('ANY');
  const p = b.truthOr('p', PT);
  const u = b.truth('u');
  const both = p === PT ? u : u === PT ? p : reg(b.test('PLOP3', [], [p, u, PT, imm(0xc0)]));
  jump(b, flow, both, targetOf(b));
};

const exit: Meaning = (b) => {
  const { guard, not } = b.condition(b.truthOr('p', PT));
  b.under(guard, not, 'EXIT', [], []);
};

/** Emits a jump to the address in a register, relative to `base`. */
function jumpBy(b: Builder, flow: Flow, kind: 'return' | 'branch' | 'call', base: number): void {
  const { guard, not } = b.condition(b.truthOr('p', PT));
  const value = b.word(b.slot('a'));
  const { first, index } = flow.tableOf(kind, b.at);
  const from = reg(b.pure('IADD3', [], [value, imm(base - first), RZ]));
  const entry = reg(b.pure('SHR', ['U32'], [from, imm(Math.log2(WORD_BYTES))]));
  b.under(guard, not, 'BRX', [], [entry, table(index)]);
}

const branchIndexed: Meaning = (b, flow) => jumpBy(b, flow, 'branch', targetOf(b));

const callDirect: Meaning = (b, flow) => jump(b, flow, b.truthOr('p', PT), targetOf(b));
const callRelative: Meaning = (b, flow) => jumpBy(b, flow, 'call', targetOf(b));
const callAbsolute: Meaning = (b, flow) => {
  const t = b.find('t');
  jumpBy(b, flow, 'call', t === undefined ? 0 : b.raw(t.atom!) * t.atom!.scale);
};

/** RET; relative return addresses count from the beginning of the section. */
const returnJump: Meaning = (b, flow) => jumpBy(b, flow, 'return', b.mod('way') === 'REL' ? targetOf(b) : 0);

const barrierOf = (b: Builder): Reg => {
  const a = b.slot('b').atom!;
  return physical('B', b.raw(a));
};

const needsNoPredicate = (b: Builder): void => {
  if (b.truthOr('p', PT) !== PT) b.fail('a convergence barrier under a predicate');
};

const openRegion: Meaning = (b, flow) => {
  needsNoPredicate(b);
  b.write('BSSY', [], [barrierOf(b)], [label(flow.blockAt(targetOf(b)))]);
};

const meetRegion: Meaning = (b) => {
  needsNoPredicate(b);
  b.write('BSYNC', [], [], [reg(barrierOf(b))]);
};

const leave: Meaning = (b) => {
  const { guard, not } = b.condition(b.truthOr('p', PT));
  b.under(guard, not, 'BREAK', [], [reg(barrierOf(b))]);
};

const barrierToWord: Meaning = (b) => {
  const d = b.to('d');
  b.write('BMOV_FROM', [b.mod('CLEAR')], [d === NO_REG ? b.temporary() : d], [reg(barrierOf(b))]);
};

const wordToBarrier: Meaning = (b) => b.write('BMOV_TO', [], [barrierOf(b)], [b.plain('a')]);

const trap: Meaning = (b) => {
  const kind = b.mod('kind');
  if (kind === 'TRAP') b.write('BPT', ['TRAP'], [], []);
  else if (kind !== 'INT') b.fail(`.${kind} is not supported yet`);
};

/**
 * LEPC: its own address, from which ptxas 13.0.88 computes return addresses up to sm_89; with an operand, an address relative to the next
 * instruction.
 */
const programCounter: Meaning = (b) => {
  const t = b.find('t');
  const at = t === undefined ? b.at : targetOf(b);
  b.give('d', imm(at), RZ);
};

const nothing: Meaning = () => {};

/** Translators by row of the form. */
export const CONTROL: Readonly<Record<string, Meaning>> = {
  NOP: nothing,
  YIELD: nothing,
  NANOSLEEP: nothing,
  PREEXIT: nothing,
  ACQBULK: nothing,
  EXIT: exit,
  BRA: branch,
  'BRA.u': branchTogether,
  'BRA.up': branchUniform,
  BRX: branchIndexed,
  BRXU: branchIndexed,
  BSSY: openRegion,
  BSYNC: meetRegion,
  BREAK: leave,
  'CALL.REL': callDirect,
  'CALL.REL.r': callRelative,
  'CALL.ABS': callAbsolute,
  RET: returnJump,
  LEPC: programCounter,
  BPT: trap,
  'BMOV.32': barrierToWord,
  'BMOV.32.to': wordToBarrier,
};

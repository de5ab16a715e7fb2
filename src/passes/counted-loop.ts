import type { BlockNo, Draft, Ins } from '../ir/draft/index.ts';
import { modOf } from '../ir/opcode.ts';
import { immValue, isTrue, isZero, Kind, NO_REG, type Operand, type Reg, regWidth } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import type { BottomTested, Refusal } from './unroll-shape.ts';

/** How a counter stands to its bound while the loop goes on. */
export type Relation = 'LT' | 'LE' | 'GT' | 'GE' | 'NE';

/**
 * A loop that goes on while `counter relation bound`, where the counter goes on by `step` once in each round and the bound does not
 * change. Nothing is said of where the counter starts, or whether it wraps.
 */
export interface CountedLoop {
  /** The comparison, in the latch. */
  readonly test: Ins;
  readonly counter: Reg;
  readonly bound: Operand;
  readonly step: bigint;
  readonly relation: Relation;
  readonly signed: boolean;
  readonly width: 32 | 64;
}

const INVERSE: Readonly<Record<string, string>> = {
  EQ: 'NE',
  NE: 'EQ',
  LT: 'GE',
  GE: 'LT',
  GT: 'LE',
  LE: 'GT',
};
/** The same with the sides changed. */
const MIRROR: Readonly<Record<string, string>> = {
  EQ: 'EQ',
  NE: 'NE',
  LT: 'GT',
  GT: 'LT',
  LE: 'GE',
  GE: 'LE',
};

const no = (name: string, why: string): Refusal => ({ name, why });

/** Finds what a loop counts by, outside of SSA; else what stands against it. */
export function countedLoop(d: Draft, loop: BottomTested): CountedLoop | Refusal {
  const { latch, header } = loop;
  const branch = d.at(d.terminator(latch));
  const test = lastDefinition(d, latch, branch.guard);
  if (test < 0) return no('counter', 'what it tests is computed elsewhere, or under a guard');
  const x = d.at(test);
  if (x.op.name !== 'ISETP' || x.dst[0] !== branch.guard || !isPlainTest(x))
    return no('counter', 'it does not compare two integers alone');
  const jumpsBack = d.blockById(branch.src[0].lo) === header;
  const stays = modOf(x.op, x.mods, 'cmp');
  const cmp = branch.guardNot === jumpsBack ? INVERSE[stays] : stays;
  const type = modOf(x.op, x.mods, 'type');
  const width = type.endsWith('64') ? 64 : 32;
  const changes = (o: Operand): boolean => o.kind === Kind.Reg && definitions(d, loop, o.reg).length > 0;
  const [a, b] = x.src;
  if (changes(a) === changes(b)) return no('bound', 'not just one side of its test changes in it');
  const [counter, bound] = changes(a) ? [a, b] : [b, a];
  if (bound.kind !== Kind.Imm && bound.kind !== Kind.Reg) return no('bound', 'its bound is no register');
  if (regWidth(counter.reg) !== width) return no('counter', 'its test reads the counter in another width');
  const relation = changes(a) ? cmp : MIRROR[cmp];
  const step = stepOf(d, loop, counter.reg, width);
  if (step === null) return no('counter', 'its counter does not go on by the same number once a round');
  // Towards the bound; equality may be passed by from both sides.
  const up = relation === 'LT' || relation === 'LE';
  if (relation === 'EQ' || (relation !== 'NE' && step > 0n !== up))
    return no('direction', 'its counter does not go towards the bound');
  return {
    test,
    counter: counter.reg,
    bound,
    step,
    relation: relation as Relation,
    signed: type.startsWith('S'),
    width,
  };
}

const isPlainTest = (x: Instr): boolean =>
  x.guard === NO_REG &&
  modOf(x.op, x.mods, 'bool') === 'AND' &&
  x.src.length > 2 &&
  isTrue(x.src[2]) &&
  x.src[0].mods === 0 &&
  x.src[1].mods === 0;

/** The last instruction of a block that writes the register, -1 if there is none. */
function lastDefinition(d: Draft, b: BlockNo, r: Reg): Ins {
  let found = -1;
  for (let n = d.first(b); n >= 0; n = d.next(n)) if (d.at(n).dst.includes(r)) found = n;
  return found;
}

const definitions = (d: Draft, loop: BottomTested, r: Reg): Ins[] =>
  d.definitions(r).filter((n) => loop.blocks.includes(d.block(n)));

/** By how much one addition that runs once in each round changes the register; null if anything else does. */
function stepOf(d: Draft, loop: BottomTested, r: Reg, width: number): bigint | null {
  const [n, ...others] = definitions(d, loop, r);
  const x = d.at(n);
  const b = d.block(n);
  // Of the blocks of a loop with one latch and no loop inside, these two run once in each round for certain.
  if (others.length > 0 || (b !== loop.latch && b !== loop.header) || x.guard !== NO_REG) return null;
  if (x.op.name !== 'IADD3' || x.dst[0] !== r) return null;
  let step: bigint | null = null;
  let reads = false;
  for (const o of x.src) {
    if (o.mods !== 0) return null;
    if (o.kind === Kind.Reg && o.reg === r && !reads) reads = true;
    else if (isZero(o)) continue;
    else if (o.kind === Kind.Imm && step === null) step = immValue(o, width);
    else return null;
  }
  if (!reads || step === null) return null;
  const signed = BigInt.asIntN(width, step);
  return signed === 0n ? null : signed;
}

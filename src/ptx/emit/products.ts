import {
  isZero,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  regFile,
  regIndex,
} from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';

/** Common subexpressions among wide products and 64-bit shifts with an addend. Places count instructions in textual order. */
export interface ProductPlan {
  /** By place of a product or shift with an addend that shares its product or shifted value: the number of that value. */
  readonly shared: ReadonlyMap<number, number>;
  /** By number: the register that holds the value anyway; NO_REG if its first use computes it. */
  readonly ready: readonly Reg[];
}

const NOTHING: ProductPlan = { shared: new Map(), ready: [] };

/** Least number of equal products in 64-bit addresses that are shared. */
const LEAST_LONG = 3;

/** Spaces whose addresses have 32 bits in the machine. */
const SHORT: ReadonlySet<string> = new Set(['const', 'local', 'shared']);

/**
 * Finds equal products in addresses, so that each is written once in a block.
 *
 * Addresses of constant, local and shared memory have 32 bits. If only the low half of a product and sum is needed, the machine uses no
 * wide multiplication, and two sums of one product are cheaper than two products. ptxas 13.0.88 fuses a product that has one use with its
 * sum before it eliminates common subexpressions, and then computes it for each sum (a hash function with 112 indices of two tables each:
 * 44160 bytes instead of 40576). For 64-bit addresses the addition is free in a wide multiplication, so two equal products stay separate:
 * if they are shared, ptxas unrolls a loop of CUDA's marchingCubes that it does not unroll in the original. From three on they are shared,
 * which saves registers: 500 large kernels need 1.002 times those of nvcc's text instead of 1.003 times, with as much code; 774 others need
 * 1.003 times instead of 1.004 times, with 0.9806 times the code instead of 0.9803 times.
 *
 * Equal 64-bit shifts are shared for addresses of every space, as nvcc writes them. The machine adds to a shifted value at no cost, but
 * then the unshifted value stays live where the shifted one could have replaced it: in 586 kernels of ggml (sm_80), sharing makes ptxas
 * need 1.004 times the registers that it needs for nvcc's text instead of 1.014 times, with 0.980 times the code instead of 0.976 times.
 *
 *     IMAD_WIDE.U32 RD2, R1, 4, RD8        mul.wide.u32 %w, %r1, 4;
 *     IMAD_WIDE.U32 RD3, R1, 4, RD9   ->   add.s64 %rd2, %w, %rd8;
 *                                          add.s64 %rd3, %w, %rd9;
 *
 *     LEA.64 RD2, RD1, RD8, 2              shl.b64 %w, %rd1, 2;
 *     LEA.64 RD3, RD1, RD9, 2         ->   add.s64 %rd2, %w, %rd8;
 *                                          add.s64 %rd3, %w, %rd9;
 *
 * Two products or shifts are equal if they have the same operands and none of these is redefined in between.
 */
export function planProducts(fn: Fn): ProductPlan {
  if (!fn.blocks.some((b) => b.ins.some((x) => (isProduct(x) || isShift(x)) && !isZero(factorsOf(x)[2]))))
    return NOTHING;
  const addresses = shortAddresses(fn);
  /** By register index: number of definitions so far. */
  const writes = new Int32Array(fn.regCount);
  const textOf = (o: Operand): string => {
    const version = o.reg === NO_REG ? 0 : writes[regIndex(o.reg)];
    return [o.kind, o.mods, o.reg, version, o.lo, o.hi, o.sym].join('.');
  };
  const ready: Reg[] = [];
  /** By number of a product: number of definitions of its register, including that of the product. */
  const readyAt: number[] = [];
  const users: number[][] = [];
  /** By number of a product: least number of equal products for which it is shared. */
  const least: number[] = [];
  const positions = new Map<string, number>();
  let place = -1;
  for (const b of fn.blocks) {
    positions.clear();
    for (const x of b.ins) {
      place++;
      const shift = isShift(x);
      const product = shift || isProduct(x);
      const [factor, by, addend] = product ? factorsOf(x) : x.src;
      const plain = product && isZero(addend);
      const key = product ? `${x.op.name} ${x.mods} ${textOf(factor)} ${textOf(by)}` : '';
      for (const r of x.dst) if (r !== NO_REG) writes[regIndex(r)]++;
      if (!product) continue;
      const enough = plain || shift || addresses[regIndex(x.dst[0])] === 1 ? 2 : LEAST_LONG;
      const above = positions.get(key);
      const holds =
        above !== undefined && (ready[above] === NO_REG || writes[regIndex(ready[above])] === readyAt[above]);
      if (holds) {
        if (!plain) users[above].push(place);
        least[above] = Math.min(least[above], enough);
        continue;
      }
      positions.set(key, ready.length);
      ready.push(plain ? x.dst[0] : NO_REG);
      readyAt.push(plain ? writes[regIndex(x.dst[0])] : 0);
      users.push(plain ? [] : [place]);
      least.push(enough);
    }
  }
  const shared = new Map<number, number>();
  users.forEach((places, product) => {
    if (places.length + Number(ready[product] !== NO_REG) >= least[product])
      for (const p of places) shared.set(p, product);
  });
  return { shared, ready };
}

/** By register index: 1 for registers in 32-bit addresses. */
function shortAddresses(fn: Fn): Uint8Array {
  const is = new Uint8Array(fn.regCount);
  for (const b of fn.blocks)
    for (const x of b.ins)
      if (SHORT.has(x.op.space ?? ''))
        for (const o of x.src)
          if ((o.kind === Kind.Addr || o.kind === Kind.CBank) && o.reg !== NO_REG) is[regIndex(o.reg)] = 1;
  return is;
}

/** Is it an unguarded wide product of two unmodified factors, neither of which is 1? */
const isProduct = (x: Instr): boolean =>
  x.op.name === 'IMAD_WIDE' &&
  x.guard === NO_REG &&
  x.dst[0] !== NO_REG &&
  regFile(x.dst[0]) === RegFile.RD &&
  !x.src.slice(0, 2).some((o) => o.mods !== 0 || (o.kind === Kind.Imm && o.lo === 1));

/** Is it an unguarded 64-bit LEA of an unmodified register? */
const isShift = (x: Instr): boolean =>
  x.op.name === 'LEA' &&
  x.guard === NO_REG &&
  x.dst[0] !== NO_REG &&
  regFile(x.dst[0]) === RegFile.RD &&
  x.src[0].kind === Kind.Reg &&
  x.src[0].mods === 0;

/** The two factors of a product, or value and count of a shift; and the addend. */
export const factorsOf = (x: Instr): readonly [Operand, Operand, Operand] =>
  x.op.name === 'LEA' ? [x.src[0], x.src[2], x.src[1]] : [x.src[0], x.src[1], x.src[2]];

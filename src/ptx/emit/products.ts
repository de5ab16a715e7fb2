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

/**
 * Where wide products and shifts of 64 bits with an addend take the product, or the shifted value, from. Places count instructions in
 * the order of the text.
 */
export interface ProductPlan {
  /** By place of a product or shift with an addend, if others have the same: its number. */
  readonly shared: ReadonlyMap<number, number>;
  /** By number: the register that has it anyway; NO_REG where the first that needs it computes it. */
  readonly ready: readonly Reg[];
}

const NOTHING: ProductPlan = { shared: new Map(), ready: [] };

/** How many products in addresses of 64 bits are equal before they are one. */
const LEAST_LONG = 3;

/** Spaces whose addresses have 32 bits in the machine. */
const SHORT: ReadonlySet<string> = new Set(['const', 'local', 'shared']);

/**
 * Finds equal products in addresses, so that PTX has each once in a block. Addresses of constant, local and shared memory have
 * 32 bits, and a product and a sum of which one half counts are no wide multiplication for the machine: two sums of one product are
 * less than two products. ptxas 13.0.88 joins a product that has one use with its sum before it looks for equal ones, and then
 * computes it for each (a hash function with 112 indices of two tables each: 44160 bytes in place of 40576). For addresses of
 * 64 bits a wide multiplication adds for nothing, and two equal products stay apart: with them joined, ptxas unrolls a loop of CUDA's
 * marchingCubes that it leaves alone in the original. From three on they are one, for the registers: 500 large kernels need 1.002 times
 * those of nvcc's text in place of 1.003 times, for as much code, 774 others 1.003 in place of 1.004, for 0.9806 in place of 0.9803.
 *
 * Equal shifts of 64 bits are written once for addresses of every space, as nvcc writes them. The machine adds to a shifted value for
 * nothing, but the value then lives on where the shifted one would have taken its place: in 586 kernels of ggml (sm_80) ptxas needs
 * 1.004 times the registers that it needs for nvcc's text instead of 1.014 times, for 0.980 times the code instead of 0.976 times.
 *
 *     IMAD_WIDE.U32 RD2, R1, 4, RD8        mul.wide.u32 %w, %r1, 4;
 *     IMAD_WIDE.U32 RD3, R1, 4, RD9   ->   add.s64 %rd2, %w, %rd8;
 *                                          add.s64 %rd3, %w, %rd9;
 *
 *     LEA.64 RD2, RD1, RD8, 2              shl.b64 %w, %rd1, 2;
 *     LEA.64 RD3, RD1, RD9, 2         ->   add.s64 %rd2, %w, %rd8;
 *                                          add.s64 %rd3, %w, %rd9;
 *
 * Products and shifts are equal where what they are made of has not been written in between.
 */
export function planProducts(fn: Fn): ProductPlan {
  if (!fn.blocks.some((b) => b.ins.some((x) => (isProduct(x) || isShift(x)) && !isZero(factorsOf(x)[2]))))
    return NOTHING;
  const addresses = shortAddresses(fn);
  /** By register index: how often it has been written so far. */
  const writes = new Int32Array(fn.regCount);
  const textOf = (o: Operand): string => {
    const version = o.reg === NO_REG ? 0 : writes[regIndex(o.reg)];
    return [o.kind, o.mods, o.reg, version, o.lo, o.hi, o.sym].join('.');
  };
  const ready: Reg[] = [];
  /** By number of a product: how often its register had been written when it held the product. */
  const readyAt: number[] = [];
  const users: number[][] = [];
  /** By number of a product: how many have to be equal. */
  const least: number[] = [];
  const known = new Map<string, number>();
  let place = -1;
  for (const b of fn.blocks) {
    known.clear();
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
      const above = known.get(key);
      const holds =
        above !== undefined && (ready[above] === NO_REG || writes[regIndex(ready[above])] === readyAt[above]);
      if (holds) {
        if (!plain) users[above].push(place);
        least[above] = Math.min(least[above], enough);
        continue;
      }
      known.set(key, ready.length);
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

/** By register index: 1 for those that stand in addresses of 32 bits. */
function shortAddresses(fn: Fn): Uint8Array {
  const is = new Uint8Array(fn.regCount);
  for (const b of fn.blocks)
    for (const x of b.ins)
      if (SHORT.has(x.op.space ?? ''))
        for (const o of x.src)
          if ((o.kind === Kind.Addr || o.kind === Kind.CBank) && o.reg !== NO_REG) is[regIndex(o.reg)] = 1;
  return is;
}

/** An unguarded wide product of two factors that are not changed on the way, and not just an extension. */
const isProduct = (x: Instr): boolean =>
  x.op.name === 'IMAD_WIDE' &&
  x.guard === NO_REG &&
  x.dst[0] !== NO_REG &&
  regFile(x.dst[0]) === RegFile.RD &&
  !x.src.slice(0, 2).some((o) => o.mods !== 0 || (o.kind === Kind.Imm && o.lo === 1));

/** An unguarded shift of 64 bits by a constant, with or without an addend. */
const isShift = (x: Instr): boolean =>
  x.op.name === 'LEA' &&
  x.guard === NO_REG &&
  x.dst[0] !== NO_REG &&
  regFile(x.dst[0]) === RegFile.RD &&
  x.src[0].kind === Kind.Reg &&
  x.src[0].mods === 0;

/** The two factors of a product, or the value and the count of a shift, and the addend. */
export const factorsOf = (x: Instr): readonly [Operand, Operand, Operand] =>
  x.op.name === 'LEA' ? [x.src[0], x.src[2], x.src[1]] : [x.src[0], x.src[1], x.src[2]];

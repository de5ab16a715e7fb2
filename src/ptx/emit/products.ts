import { cfgOf } from '../../analysis/cfg.ts';
import { dominates, dominatorsOf } from '../../analysis/dominators.ts';
import { singleValuesOf } from '../../analysis/single-values.ts';
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

/** Where wide products with an addend take the product from. Places count instructions in the order of the text. */
export interface ProductPlan {
  /** By place of a wide product with an addend that others have too: number of the product. */
  readonly shared: ReadonlyMap<number, number>;
  /** By number of a product: the register that has it anyway; NO_REG where the first that needs it computes it. */
  readonly ready: readonly Reg[];
}

const NOTHING: ProductPlan = { shared: new Map(), ready: [] };

/** Spaces whose addresses have 32 bits in the machine. */
const SHORT: ReadonlySet<string> = new Set(['const', 'local', 'shared']);

/**
 * Finds equal products in addresses of constant, local and shared memory, so that PTX has each once. These addresses have 32 bits,
 * and a product and a sum of which one half counts are no wide multiplication for the machine: two sums of one product are less than
 * two products. ptxas 13.0.88 joins a product that has one use with its sum before it looks for equal ones, and then
 * computes it for each (a hash function with 112 indices of two tables each: 44160 bytes in place of 40576). For addresses of
 * 64 bits a wide multiplication adds for nothing, and products stay apart.
 *
 *     IMAD_WIDE.U32 RD2, R1, 4, RD8        mul.wide.u32 %w, %r1, 4;
 *     IMAD_WIDE.U32 RD3, R1, 4, RD9   ->   add.s64 %rd2, %w, %rd8;
 *                                          add.s64 %rd3, %w, %rd9;
 *
 * A product is taken from above where its place is on all ways to here, and its factors are single values, the same everywhere.
 */
export function planProducts(fn: Fn): ProductPlan {
  if (!fn.blocks.some((b) => b.ins.some((x) => isProduct(x) && !isZero(x.src[2])))) return NOTHING;
  const addresses = shortAddresses(fn);
  const single = singleValuesOf(fn);
  const dom = dominatorsOf(fn);
  const { positionOf } = cfgOf(fn);
  const isSingle = (r: Reg): boolean => single[regIndex(r)] === 1;
  const steady = (o: Operand): boolean => o.kind === Kind.Imm || (o.kind === Kind.Reg && isSingle(o.reg));
  const ready: Reg[] = [];
  const users: number[][] = [];
  const known = new Map<string, { product: number; block: number }>();
  let place = -1;
  for (const b of fn.blocks) {
    const block = positionOf[b.id];
    for (const x of b.ins) {
      place++;
      if (!isProduct(x) || !steady(x.src[0]) || !steady(x.src[1])) continue;
      const plain = isZero(x.src[2]);
      if (plain ? !isSingle(x.dst[0]) : addresses[regIndex(x.dst[0])] === 0) continue;
      const key = [x.mods, x.src[0], x.src[1]].map((o) => (typeof o === 'number' ? o : textOf(o))).join(' ');
      const above = known.get(key);
      if (above !== undefined && dominates(dom, above.block, block)) {
        if (!plain) users[above.product].push(place);
        continue;
      }
      known.set(key, { product: ready.length, block });
      ready.push(plain ? x.dst[0] : NO_REG);
      users.push(plain ? [] : [place]);
    }
  }
  const shared = new Map<number, number>();
  users.forEach((places, product) => {
    if (places.length + Number(ready[product] !== NO_REG) > 1) for (const p of places) shared.set(p, product);
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

const textOf = (o: Operand): string => (o.kind === Kind.Reg ? `r${o.reg}` : `${o.lo}`);

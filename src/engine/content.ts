import { hashText } from '../ir/hash.ts';
import { keyedHash } from '../ir/keyed-hash.ts';
import type { Block, Fn, Instr, Program } from '../ir/program.ts';

/*
 * Hashes of programs by contents, so that the same program gets the same later results, whichever phases led to it.
 * Versions share their common parts, so each instruction, block and function caches its hash, and a new version costs
 * only what is new in it.
 */

/** Caches a function of immutable objects. */
function cached<T extends object>(hash: (x: T) => string): (x: T) => string {
  const known = new WeakMap<T, string>();
  return (x) => {
    let h = known.get(x);
    if (h === undefined) known.set(x, (h = hash(x)));
    return h;
  };
}

/** Plain data as text: different data give different texts. */
function plain(v: unknown): string {
  if (typeof v === 'number') return Object.is(v, -0) ? '-0' : String(v);
  if (typeof v === 'bigint') return `${v}n`;
  if (v === null || typeof v !== 'object') return JSON.stringify(v) ?? 'undefined';
  if (ArrayBuffer.isView(v)) return `bytes(${v})`;
  if (Array.isArray(v)) return `[${v.map(plain).join()}]`;
  return `{${fields(v)}}`;
}

const fields = (v: object, ...without: readonly string[]): string =>
  Object.entries(v)
    .filter(([k]) => !without.includes(k))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([k, x]) => `${k}:${plain(x)}`)
    .join();

/** Operands are numbers and a name; written by hand for speed. */
const operands = (i: Instr): string =>
  i.src.map((o) => `${o.kind},${o.reg},${plain(o.lo)},${plain(o.hi)},${o.mods},${plain(o.sym)}`).join(';');

const ofInstr = cached((i: Instr) =>
  keyedHash(
    `${i.op.name} ${i.mods} ${i.guard} ${i.guardNot} ${i.dst}|${operands(i)}|${i.otherwise} ${i.loc}`,
  ),
);
const ofBlock = cached((b: Block) => keyedHash(`${b.id} ${plain(b.name)} ${b.ins.map(ofInstr).join('')}`));
// A shape is determined by the blocks.
const ofFn = cached((f: Fn) =>
  keyedHash(`${fields(f, 'blocks', 'shape')} ${f.blocks.map(ofBlock).join('')}`),
);
const ofList = cached((list: readonly unknown[]) => keyedHash(plain(list)));

const parts = (f: Fn): string =>
  [
    f.kind,
    ...[f.params, f.returns, f.variables, f.tables].map(plain),
    fields(f.attrs, 'counts'),
    ...f.blocks.map((b) => `${b.id}:${b.ins.map(withoutPlace).join(';')}`),
  ].join(' ');

const withoutPlace = (i: Instr): string =>
  `${i.op.name} ${i.mods} ${i.guard} ${i.guardNot} ${i.dst}|${operands(i)}|${i.otherwise}`;

/**
 * Hash by which recipes identify a function, the same in every process: of its code, parameters and directives, but not
 * of its name, labels, source lines and profile. It covers the Ori text that the front end produces, so it differs between targets and
 * versions.
 */
export const functionHash = cached((f: Fn) => hashText(parts(f)));

/**
 * Hash of a program's whole contents, with the key of `keyHashes`. Programs of one instruction set with equal contents
 * have equal hashes, whatever they share and however they came about.
 */
export const contentHash = cached((p: Program) =>
  keyedHash(
    [
      fields(p, 'functions', 'variables', 'locs'),
      ofList(p.variables),
      ofList(p.locs),
      ...p.functions.map(ofFn),
    ].join(' '),
  ),
);

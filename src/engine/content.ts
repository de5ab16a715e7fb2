import { hashText } from '../ir/hash.ts';
import type { Block, Fn, Instr, Program } from '../ir/program.ts';

/*
 * Hashes of programs by what they say, so that what follows is the same work whichever phases led there. Versions share what they have
 * in common, so a hash is remembered with each instruction, block and function, and a new version costs what is new in it.
 */

/** A remembered function of objects that never change. */
function remembered<T extends object>(hash: (x: T) => string): (x: T) => string {
  const known = new WeakMap<T, string>();
  return (x) => {
    let h = known.get(x);
    if (h === undefined) known.set(x, (h = hash(x)));
    return h;
  };
}

/** Plain data as text: different for what is different. */
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

/** Operands are numbers and a name; by hand, for there are many. */
const operands = (i: Instr): string =>
  i.src.map((o) => `${o.kind},${o.reg},${plain(o.lo)},${plain(o.hi)},${o.mods},${plain(o.sym)}`).join(';');

const ofInstr = remembered((i: Instr) =>
  hashText(`${i.op.name} ${i.mods} ${i.guard} ${i.guardNot} ${i.dst}|${operands(i)}|${i.otherwise} ${i.loc}`),
);
const ofBlock = remembered((b: Block) => hashText(`${b.id} ${plain(b.name)} ${b.ins.map(ofInstr).join('')}`));
// What a shape stands for is in the blocks.
const ofFn = remembered((f: Fn) =>
  hashText(`${fields(f, 'blocks', 'shape')} ${f.blocks.map(ofBlock).join('')}`),
);
const ofList = remembered((list: readonly unknown[]) => hashText(plain(list)));

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
 * Hash by which recipes know a function: of its code, parameters and directives, but not of its name, labels, source lines and profile. It
 * is that of the Ori text that the front end makes, and so another for another target or version.
 */
export const functionHash = remembered((f: Fn) => hashText(parts(f)));

/**
 * Hash of all that a program says. Programs of one instruction set have the same where they are the same, whatever they share and
 * however they came about.
 */
export const contentHash = remembered((p: Program) =>
  hashText(
    [
      fields(p, 'functions', 'variables', 'locs'),
      ofList(p.variables),
      ofList(p.locs),
      ...p.functions.map(ofFn),
    ].join(' '),
  ),
);

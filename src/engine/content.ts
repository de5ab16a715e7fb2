import { hashText } from '../ir/hash.ts';
import { keyedHash } from '../ir/keyed-hash.ts';
import { memo } from '../ir/memo.ts';
import type { Block, Fn, Instr, Program } from '../ir/program.ts';

/*
 * Hashes of programs by contents, so that later phases reuse results for equal programs, whichever phases produced them. Snapshots share
 * unchanged parts, and each instruction, block and function caches its hash, so hashing a snapshot costs time only for its new parts.
 */

/** An injective text form of plain data. */
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

/** The operands of an instruction as text. Equivalent to `plain`, but faster. */
const operands = (i: Instr): string =>
  i.src.map((o) => `${o.kind},${o.reg},${plain(o.lo)},${plain(o.hi)},${o.mods},${plain(o.sym)}`).join(';');

const ofInstr = memo((i: Instr) =>
  keyedHash(
    `${i.op.name} ${i.mods} ${i.guard} ${i.guardNot} ${i.dst}|${operands(i)}|${i.otherwise} ${i.loc}`,
  ),
);
const ofBlock = memo((b: Block) => keyedHash(`${b.id} ${plain(b.name)} ${b.ins.map(ofInstr).join('')}`));
// The blocks determine the shape.
const ofFn = memo((f: Fn) => keyedHash(`${fields(f, 'blocks', 'shape')} ${f.blocks.map(ofBlock).join('')}`));
const ofList = memo((list: readonly unknown[]) => keyedHash(plain(list)));

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
 * The hash by which recipes identify a function, the same in every process. It covers code, parameters and directives, but not the name,
 * labels, source lines and profile. It is taken of the Ori that the front end produces, so it may differ between targets and between
 * versions of Orrery.
 */
export const functionHash = memo((f: Fn) => hashText(parts(f)));

/**
 * Hash of the whole contents of a program, with the key of `keyHashes`. Programs of one instruction set with equal contents have equal
 * hashes, even if they share no objects.
 */
export const contentHash = memo((p: Program) =>
  keyedHash(
    [
      fields(p, 'functions', 'variables', 'locs'),
      ofList(p.variables),
      ofList(p.locs),
      ...p.functions.map(ofFn),
    ].join(' '),
  ),
);

import type { Program } from '../../src/ir/program.ts';
import { parseProgram } from '../../src/ir/text.ts';
import { testIsa } from './isa.ts';
import type { World } from './memory-run.ts';

/*
 * Random kernels that access a few objects at constant and variable distances. Numbers in addresses are kept below 8, so that an address
 * derived from a variable stays near it; the variables are far apart. `u` and `v` are unsized arrays of shared memory at one address; the
 * two kernel parameters point to locations that may overlap.
 */
const HEAD = `.program "t" version 9.0 target sm_80 address 64
.var shared b8 s size 64 align 16
.var shared b8 t size 64 align 16
.var shared b8 u size 0 align 16 linkage extern
.var shared b8 v size 0 align 16 linkage extern
`;
const ENTRY = `.entry k
  .param u64 p size 8 align 8 at 0
  .param u64 q size 8 align 8 at 8
  .var local b8 l size 64 align 16
`;

/** Memory layout, with `apart` bytes between the targets of the two parameters. */
export const world = (apart: number): World => ({
  symbols: new Map([
    ['s', 0x4000000n],
    ['t', 0x8000000n],
    ['u', 0xc000000n],
    ['v', 0xc000000n],
    ['l', 0x4000000n],
  ]),
  bank: new Map([
    [0x160, 0x200000000n],
    [0x168, 0x200000000n + BigInt(apart)],
  ]),
  registers: new Map(),
});

/** Small numbers from a seed (the 32-bit generator mulberry32). */
export type Dice = (below: number) => number;
export function dice(seed: number): Dice {
  let a = seed | 0;
  return (below) => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}
const pick = <T>(d: Dice, all: readonly T[]): T => all[d(all.length)];

function parse(lines: readonly string[], regs: number): Program {
  const text = `${HEAD}${ENTRY}  .regs ${regs}\n{\n${lines.join('\n')}\n}\n`;
  const { program, diagnostics } = parseProgram(text, testIsa());
  if (diagnostics.length > 0) throw new Error(`${diagnostics[0].message}\n${text}`);
  return program;
}

/** Registers that a statement may read: 32-bit addresses of shared memory, 64-bit global addresses, small and other numbers. */
interface Names {
  shared: string[];
  wide: string[];
  generic: string[];
  local: string[];
  small: string[];
  any: string[];
  preds: string[];
}
type Fresh = (file: 'R' | 'RD' | 'P') => string;

const offset = (d: Dice): string => {
  const n = 4 * d(6) - 8;
  return n === 0 ? '' : n < 0 ? `${n}` : `+${n}`;
};
const TYPES = [
  ['', ''],
  ['', ''],
  ['', ''],
  ['.U8', '.U8'],
  ['.U16', '.U16'],
] as const;

/** Emits one statement; what it defines is entered into `names` under a fresh register. */
function statement(d: Dice, names: Names, fresh: Fresh): string {
  const guard = names.preds.length > 0 && d(6) === 0 ? `@${pick(d, ['', '!'])}${pick(d, names.preds)} ` : '';
  const [load, store] = pick(d, TYPES);
  const put = (list: string[], r: string): string => {
    list.push(r);
    return r;
  };
  const n = String(pick(d, [4, 8, 16, -4, 1]));
  // One number is an address in both shared and local memory; accesses occasionally use the other's register.
  const near = (own: 'shared' | 'local'): string =>
    pick(d, d(4) > 0 ? names[own] : [...names.shared, ...names.local]) + offset(d);
  switch (d(17)) {
    case 0:
    case 1:
      return `${guard}STS${store} [${near('shared')}], ${pick(d, names.any)}`;
    case 2:
      return `${guard}STS${store} [${pick(d, ['s', 't', 'u', 'v'])}+${4 * d(20)}], ${pick(d, names.any)}`;
    case 3:
    case 4: {
      const from = near('shared');
      return `LDS${load} ${put(names.any, fresh('R'))}, [${from}]`;
    }
    case 5:
      return `LDS${load} ${put(names.any, fresh('R'))}, [${pick(d, ['s', 't', 'u', 'v'])}+${4 * d(20)}]`;
    case 6:
      return `${guard}STG${store} [${pick(d, names.wide)}${offset(d)}], ${pick(d, names.any)}`;
    case 7:
      return `LDG${load} ${put(names.any, fresh('R'))}, [${pick(d, names.wide)}${offset(d)}]`;
    case 8:
      return `${guard}ST${store} [${pick(d, names.generic)}${offset(d)}], ${pick(d, names.any)}`;
    case 9:
      return `LD${load} ${put(names.any, fresh('R'))}, [${pick(d, names.generic)}${offset(d)}]`;
    case 10:
      return d(2) === 0
        ? `${guard}STL${store} [${near('local')}], ${pick(d, names.any)}`
        : `LDL${load} ${put(names.any, fresh('R'))}, [${near('local')}]`;
    case 11: {
      const a = pick(d, names.any);
      return `LOP3 ${put(names.small, fresh('R'))}, ${a}, 7, RZ, 0xc0`;
    }
    case 12: {
      const p = pick(d, names.shared);
      const i = pick(d, names.small);
      const r = fresh('R');
      const text = pick(d, [
        `IADD3 ${r}, ${p}, ${n}, RZ`,
        `IADD3 ${r}, RZ, ${p}, ${i}`,
        `LEA ${r}, ${i}, ${p}, ${d(5)}`,
        `IMAD ${r}, ${i}, ${16 * (1 + d(2))}, ${p}`,
        `IMAD ${r}, ${pick(d, names.shared)}, 1, ${d(8)}`,
        `MOV ${r}, &${pick(d, ['s', 't', 'u'])}+${4 * d(8)}`,
        // Differences of addresses, and values derived from them.
        `IADD3 ${r}, ${p}, -${pick(d, names.shared)}, ${pick(d, names.shared)}`,
      ]);
      names.shared.push(r);
      return text;
    }
    case 13: {
      const p = pick(d, names.wide);
      const i = pick(d, names.small);
      const r = put(names.wide, fresh('RD'));
      return pick(d, [
        `IADD3.64 ${r}, ${p}, ${n}, RZ`,
        `IMAD_WIDE.U32 ${r}, ${i}, ${4 * (1 + d(4))}, ${p}`,
        `LDC.B64 ${r}, c[0x0][${pick(d, ['0x160', '0x168'])}]`,
        `IADD3.64 ${r}, c[0x0][0x160], ${n}, RZ`,
      ]);
    }
    case 14: {
      const r = fresh('RD');
      const g = pick(d, names.generic);
      names.generic.push(r);
      return pick(d, [
        `IADD3.64 ${r}, ${g}, ${n}, RZ`,
        `CVTA.SHARED ${r}, &${pick(d, ['s', 't', 'v'])}+${4 * d(8)}`,
        `CVTA.LOCAL ${r}, &l+${4 * d(8)}`,
      ]);
    }
    case 15:
      if (d(3) > 0) {
        const a = pick(d, names.any);
        return `ISETP.${pick(d, ['LT', 'GE', 'NE'])} ${put(names.preds, fresh('P'))}, ${a}, ${d(5)}`;
      }
      return `IADD3 ${put(names.local, fresh('R'))}, ${pick(d, names.local)}, ${n}, RZ`;
    default:
      return pick(d, ['BAR.SYNC RZ', 'MEMBAR', 'IADD3 R90, R90, 1, RZ']);
  }
}

/** Common beginning of all kernels. */
const START = [
  'MOV R1, &s',
  'MOV R2, &t+8',
  'LDC.B64 RD3, c[0x0][0x160]',
  'LDC.B64 RD4, c[0x0][0x168]',
  'CVTA.SHARED RD5, &s+16',
  'MOV R6, &l',
  'MOV R7, 3',
  'MOV R8, 0',
  'MOV R90, 0',
  'ISETP.NE P9, R7, 3',
];
const initial = (): Names => ({
  shared: ['R1', 'R2'],
  wide: ['RD3', 'RD4'],
  generic: ['RD5', 'RD3'],
  local: ['R6'],
  small: ['R7', 'R8'],
  any: ['R7', 'R8'],
  preds: ['P9'],
});

/** A kernel with arbitrary control flow, whose registers are redefined many times. */
export function wildKernel(seed: number): Program {
  const d = dice(seed);
  const count = 2 + d(6);
  const lines = [`BB${count}:`, ...START];
  const pool = initial();
  // Few registers of each kind, all initialised at the start.
  const extra: [keyof Names, string, string][] = [
    ['shared', 'R11', 'MOV R11, &u'],
    ['wide', 'RD12', 'IADD3.64 RD12, RD3, 16, RZ'],
    ['generic', 'RD13', 'CVTA.LOCAL RD13, &l'],
    ['small', 'R14', 'MOV R14, 2'],
    ['any', 'R15', 'MOV R15, 9'],
    ['preds', 'P16', 'ISETP.NE P16, R7, 2'],
  ];
  for (const [kind, r, text] of extra) {
    pool[kind].push(r);
    lines.push(text);
  }
  // Registers with one definition, which does not dominate all uses, or with none.
  pool.shared.push('R17', 'R18', 'R19');
  pool.wide.push('RD20', 'RD21');
  for (let b = 0; b < count; b++) {
    lines.push(`BB${b}:`);
    for (let i = d(6); i > 0; i--) {
      const names: Names = structuredClone(pool);
      const kinds = Object.keys(pool) as (keyof Names)[];
      let text = statement(d, names, () => 'NEW');
      if (text.includes('NEW')) {
        // A statement that got a register writes an existing one instead, and some are guarded.
        const kind = kinds.find((k) => names[k].includes('NEW'))!;
        const own = pool[kind].filter((r) => r !== 'RD3' || kind !== 'generic');
        text = text.replaceAll('NEW', pick(d, d(2) === 0 ? own.slice(-2) : own));
        if (d(5) === 0) text = `@${pick(d, pool.preds)} ${text}`;
      }
      lines.push(text);
    }
    const to = `BB${d(count)}`;
    const c = d(5);
    if (c === 0) lines.push(`BRA ${to}`);
    else if (c < 4) lines.push(`@${pick(d, ['', '!'])}${pick(d, pool.preds)} BRA ${to}`);
  }
  lines.push(`BB${count + 1}:`, 'EXIT');
  return parse(lines, 91);
}

/** A kernel in SSA: nested conditions and loops, with addresses selected at joins and advanced in loops. */
export function ssaKernel(seed: number): Program {
  const d = dice(seed);
  let reg = 100;
  let block = 1;
  const fresh: Fresh = (file) => `${file}${reg++}`;
  const lines = ['BB0:', ...START];
  let here = 'BB0';
  const open = (name: string): void => {
    lines.push(`${name}:`);
    here = name;
  };
  const straight = (names: Names): void => {
    for (let i = 1 + d(5); i > 0; i--) {
      // Counted numbers have one definition here.
      const s = statement(d, names, fresh).replace('IADD3 R90, R90', `IADD3 ${fresh('R')}, R90`);
      lines.push(s);
    }
  };
  const body = (names: Names, depth: number): void => {
    straight(names);
    for (let i = d(3); i > 0 && depth > 0; i--) {
      if (d(2) === 0) condition(names, depth - 1);
      else loop(names, depth - 1);
      straight(names);
    }
  };
  const condition = (names: Names, depth: number): void => {
    const [no, join] = [`BB${block++}`, `BB${block++}`];
    lines.push(`@${pick(d, names.preds)} BRA ${no}`);
    const yes = structuredClone(names);
    open(`BB${block++}`);
    body(yes, depth);
    lines.push(`BRA ${join}`);
    const yesEnd = here;
    const other = structuredClone(names);
    open(no);
    body(other, depth);
    const noEnd = here;
    open(join);
    for (const kind of ['shared', 'any'] as const) {
      const r = fresh('R');
      lines.push(`MOVPHI ${r}, {${yesEnd}: ${pick(d, yes[kind])}, ${noEnd}: ${pick(d, other[kind])}}`);
      names[kind].push(r);
    }
  };
  /** A few accesses at loop-carried addresses, with nothing that could hide what is known about them. */
  const walkAlong = (p: string, w: string, inside: Names): void => {
    for (let i = 1 + d(3); i > 0; i--)
      lines.push(
        pick(d, [
          `STS [${p}${offset(d)}], ${pick(d, inside.any)}`,
          `LDS ${fresh('R')}, [${p}${offset(d)}]`,
          `LDS ${fresh('R')}, [${p}${offset(d)}]`,
          `STG [${w}${offset(d)}], ${pick(d, inside.any)}`,
          `LDG ${fresh('R')}, [${w}${offset(d)}]`,
        ]),
      );
  };
  const loop = (names: Names, depth: number): void => {
    const [before, head] = [here, `BB${block++}`];
    const [i, p, w, i2, p2, w2, c] = ['R', 'R', 'RD', 'R', 'R', 'RD', 'P'].map((f) => fresh(f as 'R'));
    const at = lines.length;
    const start = [pick(d, names.shared), pick(d, names.wide)];
    open(head);
    const inside = structuredClone(names);
    inside.shared.push(p);
    inside.wide.push(w);
    inside.small.push(i);
    if (d(2) === 0) body(inside, depth);
    else walkAlong(p, w, inside);
    lines.push(
      `IADD3 ${i2}, ${i}, 1, RZ`,
      `IADD3 ${p2}, ${d(3) === 0 ? pick(d, inside.shared) : p}, ${4 * d(4)}, RZ`,
      `IADD3.64 ${w2}, ${w}, ${4 * d(4)}, RZ`,
      `ISETP.LT ${c}, ${i2}, ${1 + d(3)}`,
      `@${c} BRA ${head}`,
    );
    const latch = here;
    lines.splice(
      at + 1,
      0,
      `MOVPHI ${i}, {${before}: R8, ${latch}: ${i2}}`,
      `MOVPHI ${p}, {${before}: ${start[0]}, ${latch}: ${p2}}`,
      `MOVPHI.64 ${w}, {${before}: ${start[1]}, ${latch}: ${w2}}`,
    );
    open(`BB${block++}`);
    names.shared.push(p);
    names.wide.push(w2);
  };
  body(initial(), 3);
  lines.push('EXIT');
  return parse(lines, reg);
}

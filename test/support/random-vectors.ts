import type { Program } from '../../src/ir/program.ts';
import { parseProgram } from '../../src/ir/text.ts';
import { testIsa } from './isa.ts';
import type { World } from './memory-run.ts';
import { dice } from './random-memory.ts';

/** A kernel, and worlds in which everything has exactly its declared alignment. */
export interface VectorKernel {
  readonly program: Program;
  /** Variables are aligned as in `program`, which was derived from the kernel; `number` selects what the kernel does. */
  readonly worldOf: (program: Program, number?: number) => World;
}

/**
 * A kernel in SSA with many adjacent accesses: scalars and vectors through a few bases, among stores that may alias, barriers, volatile
 * accesses and guards, in conditions and loops whose counters are multiples of powers of two.
 *
 * @param wide also accesses wider than a word, some of them misaligned, which makes the kernel invalid
 */
export function vectorKernel(seed: number, wide: boolean): VectorKernel {
  const d = dice(seed);
  const pick = <T>(list: readonly T[]): T => list[d(list.length)];
  const align = (): number => pick([4, 4, 8, 16]);
  const pointee = [align(), align()];
  let reg = 100;
  let block = 1;
  const fresh = (file: 'R' | 'RD' | 'P'): string => `${file}${reg++}`;
  const lines = [
    'BB0:',
    'LDC R1, c[0x0][0x170]',
    'LDC.B64 RD2, c[0x0][0x160]',
    'LDC.B64 RD3, c[0x0][0x168]',
    `LOP3 R4, R1, ${pick([7, -4, -8, -16])}, RZ, 0xc0`,
    'MOV R5, &s',
    `LEA R6, R4, R5, ${d(5)}`,
    `IMAD_WIDE.U32 RD7, R4, ${pick([4, 8, 12, 16])}, RD2`,
    `IADD3.64 RD8, RD3, ${pick([-8, 4, 8, 16])}`,
    'ISETP.LT P9, R1, 2',
    'MOV.64 RD10, &l',
    `IMAD R11, R4, ${pick([4, 20, 48])}, R5`,
    'MOV R12, 3',
  ];
  const bases = ['R5', 'R6', 'R11', 'RD2', 'RD3', 'RD7', 'RD8', 'RD10', 's', 't', 'l'];
  const values = ['R1', 'R12', '17'];
  const spaceOf = (b: string): string => (b === 'RD10' || b === 'l' ? 'L' : b.startsWith('RD') ? 'G' : 'S');
  const access = (base: string, at: number, store: boolean, own: string[], guarded: boolean): void => {
    const type = wide && d(9) === 0 ? pick(['.V2', '.B64', '.V4']) : '';
    const sem = d(40) === 0 ? '.VOLATILE' : '';
    const place = `[${base}${at < 0 ? at : `+${at}`}]`;
    const guard = guarded ? '@P9 ' : '';
    const n = type === '.V2' ? 2 : type === '.V4' ? 4 : 1;
    if (store) {
      const v = Array.from({ length: n }, () => pick(own));
      lines.push(
        `${guard}ST${spaceOf(base)}${type}${sem} ${place}, ${type === '.B64' ? 'RD7' : n > 1 ? `{${v.join(', ')}}` : v[0]}`,
      );
      return;
    }
    const to = Array.from({ length: n }, () => fresh(type === '.B64' ? 'RD' : 'R'));
    const other = guarded ? ` else ${type === '.B64' ? 'RD7' : 'R12'}` : '';
    const dst = to.map((r) => `${r}${other}`).join(', ');
    lines.push(`${guard}LD${spaceOf(base)}${type}${sem} ${n > 1 ? `{${dst}}` : dst}, ${place}`);
    if (type !== '.B64') own.push(...to);
  };
  const straight = (own: string[], near: readonly string[]): void => {
    for (let i = 1 + d(3); i > 0; i--) {
      const base = pick(near);
      const named = !base.startsWith('R');
      const start = 4 * (named ? d(4) : d(8) - 3);
      const step = pick([4, 4, 4, 8]);
      const store = d(2) === 0;
      const guarded = d(4) === 0;
      for (const k of [0, 1, 2, 3].slice(0, 2 + d(3)).toSorted(() => d(3) - 1)) {
        access(base, start + step * k, store, own, guarded);
        if (d(5) === 0) {
          const r = fresh('R');
          lines.push(`IADD3 ${r}, ${pick(own)}, 1`);
          own.push(r);
        }
        if (d(7) === 0) access(pick(near), 4 * d(8), d(2) === 0, own, d(4) === 0);
        if (d(25) === 0) lines.push('BAR.SYNC RZ');
      }
    }
  };
  const body = (own: string[], near: readonly string[], depth: number): void => {
    straight(own, near);
    if (depth === 0) return;
    if (d(2) === 0) {
      const join = block++;
      const p = fresh('P');
      lines.push(`ISETP.LT ${p}, ${pick(own)}, 40`, `@${p} BRA BB${join}`, `BB${block++}:`);
      body([...own], near, depth - 1);
      lines.push(`BB${join}:`);
    } else {
      const head = block++;
      const from = /^BB\d+/.exec(lines.findLast((l) => l.startsWith('BB'))!)![0];
      const [i, next, p, q, to, at] = [
        fresh('R'),
        fresh('R'),
        fresh('P'),
        fresh('RD'),
        fresh('RD'),
        fresh('R'),
      ];
      lines.push(`BB${head}:`);
      const place = lines.length;
      const step = pick([4, 8, 16, 24, 32]);
      lines.push(`IADD3 ${at}, R5, ${i}`);
      body([...own], [...near, q, at], depth - 1);
      const latch = /^BB\d+/.exec(lines.findLast((l) => l.startsWith('BB'))!)![0];
      lines.splice(
        place,
        0,
        `MOVPHI ${i}, {${from}: RZ, ${latch}: ${next}}`,
        `MOVPHI.64 ${q}, {${from}: ${pick(['RD7', 'RD8'])}, ${latch}: ${to}}`,
      );
      lines.push(
        `IADD3 ${next}, ${i}, ${step}`,
        `IADD3.64 ${to}, ${q}, ${pick([8, 16, 20])}`,
        `ISETP.LT ${p}, ${next}, ${3 * step}`,
        `@${p} BRA BB${head}`,
        `BB${block++}:`,
      );
    }
    straight(own, near);
  };
  body(values, bases, 2);
  lines.push('STG [RD2+1024], R12', 'EXIT');
  const text = `.program "t" version 9.0 target sm_80 address 64
.var shared b8 s size ${pick([64, 256, 260])} align ${align()}
.var shared b8 t size ${pick([64, 68])} align ${align()}${d(3) === 0 ? ' linkage extern' : ''}
.entry k
  .param u64 p size 8 align 8 at 0 ptr global pointee ${pointee[0]}
  .param u64 q size 8 align 8 at 8 ptr global pointee ${pointee[1]}
  .var local b8 l size ${pick([64, 72])} align ${align()}
  .regs ${reg}
{
${lines.join('\n')}
}
`;
  const { program, diagnostics } = parseProgram(text, testIsa());
  if (diagnostics.length > 0) throw new Error(`${diagnostics[0].message}\n${text}`);
  const apart = d(2) === 0 ? 0x100000 : 16 * d(4);
  const worldOf = ({ variables, functions }: Program, number = 3): World => ({
    // An odd multiple of the alignment, so that the alignment is exact.
    symbols: new Map(
      [...variables, ...functions[0].variables].map((v, k) => [
        v.name,
        0x4000000n * BigInt(k + 1) + BigInt(v.align),
      ]),
    ),
    bank: new Map([
      [0x160, 0x200000000n + BigInt(pointee[0])],
      [0x168, 0x200000000n + BigInt(apart + pointee[1])],
      [0x170, BigInt(number)],
    ]),
    registers: new Map(),
  });
  return { program, worldOf };
}

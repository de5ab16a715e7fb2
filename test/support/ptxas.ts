import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sectionBytes, sectionSizes } from '../../src/cubin/code-size.ts';

/** PTX that leaves a result in %r1, or in %d1 if it is wide; %a is the address of a buffer. */
export interface OneResult {
  readonly ptx: string;
  readonly wide: boolean;
}

/** True if ptxas is run on everything (ORRERY_PTXAS_ALL=1): its verdict on a foreign text changes only with its version. */
export const askAll = process.env['ORRERY_PTXAS_ALL'] === '1';
/** Every fourth of some texts, unless ptxas is run on everything. */
export const someOf = <T>(texts: readonly T[]): readonly T[] =>
  askAll ? texts : texts.filter((_, k) => k % 4 === 0);

/** True if ptxas is on the PATH; prints a note if not. */
export function hasPtxas(test: string): boolean {
  const found = spawnSync('ptxas', ['--version']).error === undefined;
  if (!found) console.warn(`${test}: ptxas is not on the PATH, nothing is compared with it`);
  return found;
}

/** Immediate of a move-constant instruction of sm_90, by its low 12 opcode bits: MOV, IMAD.MOV, HFMA2.MMA, HADD2. */
const MOVES = new Set([0x802, 0x424, 0x435, 0x431]);
const [STORE, CLEAR_PAIR, RZ] = [0x986, 0x805, 255];
/** Instructions around the computation that write no general register of interest. */
const OTHER = new Set([0x918, 0x947, 0x94d, 0xb82, 0xac3, 0xab9]);

/** The constant that machine code stores; null if it is computed at run time. */
export function storedConstant(code: DataView, wide: boolean): bigint | null {
  const regs = new Map<number, bigint | null>([[RZ, 0n]]);
  for (let at = 0; at + 16 <= code.byteLength; at += 16) {
    const low = code.getBigUint64(at, true);
    const op = Number(low & 0xfffn);
    const dst = Number((low >> 16n) & 0xffn);
    if (op === STORE) {
      const src = Number((low >> 32n) & 0xffn);
      const [lo, hi] = [regs.get(src) ?? null, wide ? (regs.get(src === RZ ? RZ : src + 1) ?? null) : 0n];
      return lo === null || hi === null ? null : (hi << 32n) | lo;
    }
    if (MOVES.has(op)) regs.set(dst, low >> 32n);
    else if (op === CLEAR_PAIR) regs.set(dst, 0n).set(dst + 1, 0n);
    else if (!OTHER.has(op) && dst !== RZ) regs.set(dst, null);
  }
  return null;
}

/** Code sections of a cubin, by kernel name. */
export const codeSections = (elf: Buffer): Map<string, DataView> =>
  new Map(
    [...sectionBytes(elf, '.text.')].map(([name, b]) => [
      name,
      new DataView(b.buffer, b.byteOffset, b.byteLength),
    ]),
  );

/** Bytes of static shared memory by kernel, for the kernels of a cubin that have any. */
export const sharedSizes = (elf: Buffer): Map<string, number> => sectionSizes(elf, '.nv.shared.');

/** Runs ptxas on a module. @returns its cubin, or its diagnostics @throws if ptxas is not on the PATH */
export function ptxas(
  text: string,
  sm = 'sm_90',
  ...more: readonly string[]
): { cubin: Buffer | null; errors: string } {
  const dir = mkdtempSync(join(tmpdir(), 'ptxas-'));
  try {
    writeFileSync(join(dir, 'k.ptx'), text);
    const run = spawnSync('ptxas', ['-arch', sm, 'k.ptx', '-o', 'k.cubin', ...more], {
      cwd: dir,
      encoding: 'utf8',
    });
    if (run.error !== undefined) throw run.error;
    return run.status === 0
      ? { cubin: readFileSync(join(dir, 'k.cubin')), errors: '' }
      : { cubin: null, errors: run.stderr };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Machine code of one kernel per case, each of which stores its result. @throws if ptxas rejects them */
export function machineCode(cases: readonly OneResult[], sm = 'sm_90'): DataView[] {
  const kernels = cases.map(
    (c, i) =>
      `.visible .entry k${i}(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b64 %a; .reg .b16 %h<9>; .reg .pred %p<9>; ` +
      `ld.param.u64 %a, [p]; ${c.ptx} st.global.b${c.wide ? 64 : 32} [%a], %${c.wide ? 'd' : 'r'}1; ret; }`,
  );
  const { cubin, errors } = ptxas(
    `.version 9.0\n.target ${sm}\n.address_size 64\n${kernels.join('\n')}\n`,
    sm,
  );
  if (cubin === null) throw new Error(errors);
  const sections = codeSections(cubin);
  return cases.map((_, i) => sections.get(`k${i}`)!);
}

/** The constant that ptxas folds each case to; null for a case computed at run time. */
export const folded = (cases: readonly OneResult[]): (bigint | null)[] =>
  machineCode(cases).map((code, i) => storedConstant(code, cases[i].wide));

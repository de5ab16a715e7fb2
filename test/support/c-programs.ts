import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** The first of these programs that is on the PATH. */
const found = (...names: string[]): string | undefined =>
  names
    .flatMap((name) => (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)))
    .find((path) => existsSync(path));

/** An LLVM tool, in the newest version installed. */
const ofLlvm = (name: string): string | undefined =>
  found(name, ...Array.from({ length: 12 }, (_, k) => `${name}-${25 - k}`));

const csmith = found('csmith');
const safeMath =
  csmith === undefined
    ? undefined
    : [join(dirname(dirname(csmith)), 'include'), '/usr/include']
        .flatMap((folder) => [join(folder, 'csmith'), join(folder, 'csmith-2.3.0')])
        .find((folder) => existsSync(join(folder, 'safe_math.h')));
const TOOLS = { gcc: found('gcc'), clang: ofLlvm('clang'), opt: ofLlvm('opt'), llc: ofLlvm('llc') };

/** Which of Csmith, gcc and LLVM are missing. */
export const missingTools: readonly string[] = [
  ...(safeMath === undefined ? ['csmith'] : []),
  ...Object.entries(TOOLS).flatMap(([name, path]) => (path === undefined ? [name] : [])),
];

/** A C program and its expected result. */
export interface CProgram {
  /** PTX of kernel `k`, by optimization level of clang; its parameter points to the eight bytes of the result. */
  readonly ptx: ReadonlyMap<number, string>;
  /** The checksum computed by gcc's code on the host. */
  readonly expected: Buffer;
}

const MAIN = `
#ifdef __NVPTX__
void k(uint64_t *out) { program(); *out = checksum; }
#else
#include <stdio.h>
int main() { program(); fwrite(&checksum, 8, 1, stdout); return 0; }
#endif
`;

/**
 * The program that Csmith generates for a seed. Null if it does not end within a second on the host, or if LLVM cannot compile it to PTX:
 * before version 16 it could not with addresses in array initialisers.
 *
 * LLVM stores one-bit variables in one byte and reads two; here they are given two.
 */
export function cProgram(seed: number, levels: readonly number[]): CProgram | null {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-c-'));
  try {
    const at = (name: string): string => join(dir, name);
    const run = (command: string, args: readonly string[], timeout = 60_000) =>
      spawnSync(command, args, { cwd: dir, timeout, maxBuffer: 1 << 26 });
    const made = run(csmith!, [
      ...['--seed', String(seed), '--no-argc', '--no-builtins', '--no-bitfields', '--no-packed-struct'],
      ...['--max-funcs', String(3 + (seed % 5)), '--max-block-depth', String(2 + (seed % 4))],
      ...(seed % 2 === 0 ? ['--no-volatiles'] : []),
    ]);
    if (made.status !== 0) return null;
    const text = made.stdout
      .toString()
      .replace('int main (void)', 'int program (void)')
      .replace('static long __undefined', 'static int64_t __undefined')
      .replaceAll(/^.*printf\(.*$/gm, '');
    writeFileSync(at('p.c'), text + MAIN);
    const common = ['-w', '-fno-strict-aliasing', '-I', import.meta.dirname, '-I', safeMath!, at('p.c')];
    if (run(TOOLS.gcc!, ['-O1', ...common, '-o', at('host')]).status !== 0) return null;
    const host = run(at('host'), [], 1000);
    if (host.status !== 0 || host.stdout.length !== 8) return null;
    const ptx = new Map<number, string>();
    for (const level of levels) {
      const target = ['--target=nvptx64-nvidia-cuda', '-march=sm_80', '-ffreestanding', '-S', '-emit-llvm'];
      if (run(TOOLS.clang!, [`-O${level}`, ...target, ...common, '-o', at('p.ll')]).status !== 0) continue;
      const ll = readFileSync(at('p.ll'), 'utf8');
      const k = /^define .*void @k\(ptr/m.test(ll) ? 'ptr @k' : 'void (i64*)* @k';
      writeFileSync(at('p.ll'), `${ll}\n!nvvm.annotations = !{!9999}\n!9999 = !{${k}, !"kernel", i32 1}\n`);
      const kept = ['-passes=internalize,globaldce', '-internalize-public-api-list=k'];
      if (run(TOOLS.opt!, [...kept, '-S', at('p.ll'), '-o', at('q.ll')]).status !== 0)
        throw new Error(`opt refuses what clang wrote of csmith --seed ${seed}`);
      const how = ['-march=nvptx64', '-mcpu=sm_80', '-mattr=+ptx75', `-O${level === 0 ? 0 : 3}`];
      if (run(TOOLS.llc!, [...how, at('q.ll'), '-o', at('p.ptx')]).status !== 0) continue;
      const wide = /^(\.global \.align [248] )\.u8 ([^ =]+)( = |;)/gm;
      ptx.set(level, readFileSync(at('p.ptx'), 'utf8').replaceAll(wide, '$1.u16 $2$3'));
    }
    return ptx.size === 0 ? null : { ptx, expected: host.stdout };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

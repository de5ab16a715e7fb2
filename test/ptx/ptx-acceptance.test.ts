import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { checkPtx } from '../../src/ptx/check.ts';
import { readForm } from '../../src/ptx/forms.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { generatedSyntax } from '../../src/tools/generate-syntax.ts';
import { command } from '../support/commands.ts';
import { type Mutant, mutant, randomOf } from '../support/ptx-mutants.ts';
import { seeds } from '../support/size.ts';

/** The errors of a text, as users see them. */
const faults = (text: string): string[] => {
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  return [...diagnostics, ...checkPtx(module)]
    .filter((d) => d.severity === 'error')
    .map((d) => [d.message, ...(d.notes ?? [])].join('; '));
};

const body = (lines: string, version = '9.0', target = 'sm_90'): string => `.version ${version}
.target ${target}
.address_size 64
.global .u32 gv; .shared .u32 sv[16]; .const .u32 cv;
.func (.reg .u32 fo) ff(.reg .u32 fa) { mov.u32 fo, fa; ret; }
.visible .entry k(.param .u64 a)
{
 .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .f64 %d<4>;
 ${lines}
$L: ret;
}
`;

/** Lines that ptxas refuses, in PTX 9.0 for sm_90 or what stands beside them, and what is said of each. */
const WRONG: readonly (readonly [line: string, said: string, version?: string, target?: string])[] = [
  ['.loc 1 4294967296 1', 'a line is a number of at most 32 bits'],
  ['.target sm_801', "unknown target 'sm_801'; did you mean 'sm_101' or 'sm_80' or 'sm_10'?"],
  ['add.s32 %r1, -%r3, %r2;', "'add' negates no operand; negate it with 'neg' before"],
  ['ld.global.v4.u32 {%r1,%r2}, [%rd1];', "'ld.global.v4.u32' takes a vector of 4, found 2 in braces"],
  ['ld.global.v2.u32 %r1, [%rd1];', "'ld.global.v2.u32' takes a vector of 2 there, not '%r1'"],
  ['ld.global.v4.u64 {%rd1,%rd1,%rd1,%rd1}, [%rd1];', "a vector of 4 '.u64' is larger than 128 bits"],
  ['membar.foo;', "'membar' has no modifier '.foo'; it has .cta, .gl, .sys, .proxy, .alias"],
  ['membar.gk;', "'membar' has no modifier '.gk'; did you mean 'gl'?"],
  ['bar.sync 1000;', "1000 in 'bar.sync' is not between 0 and 15"],
  ['bar.sync 0, 33;', "33 in 'bar.sync' is not a multiple of 32"],
  ['call (%r1), ff, (%r2, %r3);', "'ff' has 1 argument, but the call has 2 arguments"],
  ['call (%r1), ff, (%rd1);', "argument 1 of 'ff' has 4 bytes, but '%rd1' has 8"],
  ['call (%r1), k, (%rd1);', "'k' is an entry: only device functions are called"],
  [
    'shfl.idx.b32 %r1, %r2, 0, 31;',
    "'shfl.idx.b32' needs .sync; the form without it was removed after PTX 6.3 for sm_70 and newer",
  ],
  [
    'vote.all.pred %p1, %p2;',
    "'vote.all.pred' needs .sync; the form without it was removed after PTX 6.3 for sm_70 and newer",
  ],
  ['add.f32 %f1, %f2, 1;', "'add.f32' takes no integer constant; 1 as a floating-point constant is 1.0"],
  ['add.s32 %r1, %r2, 1.5;', "'add.s32' takes no floating-point constant there"],
  ['add.s32 5, %r1, %r2;', "'add.s32' takes a register there, not 5"],
  ['add.s32 %r1, %r2, %tid.x;', "'add' takes no special register; read it with 'mov' before"],
  ['mov.u64 %rd1, %tid.x;', "'%tid.x' has 32 bits, but 'mov' takes 64 there"],
  ['sub.s32 %r1+4, %r4, %r3;', "'sub.s32' takes a register there, not '%r1' with an offset"],
  ['mov.u32 %r1+4, %r2;', "'mov.u32' takes a register there, not '%r1' with an offset"],
  ['ld.global.u32 %r1+4, [%rd1];', "'ld.global.u32' takes a register there, not '%r1' with an offset"],
  ['selp.b32 %r1+4, %r2, %r3, %p1;', "'selp.b32' takes a register there, not '%r1' with an offset"],
  ['setp.eq.s32 %p1+1, %r1, %r2;', "'setp.eq.s32' takes a register there, not '%p1' with an offset"],
  [
    'atom.global.add.u32 %r1+4, [%rd1], 1;',
    "'atom.global.add.u32' takes a register there, not '%r1' with an offset",
  ],
  ['mov.b64 {%r1+4, %r2}, %rd1;', "'mov.b64' takes a register there, not '%r1' with an offset"],
  ['add.s32 _, %r1, %r2;', "'add.s32' takes a register there, not '_'"],
  ['add.s32 %r1, gv, %r2;', "'gv' is not a register; read its address with 'mov', or it with 'ld'"],
  ['st.shared.u32 [gv], %r1;', "'gv' is .global, but 'st.shared.u32' accesses .shared"],
  ['ld.u32 %r1, [cv];', "'cv' is .const, but 'ld.u32' names no space"],
  ['ld.global.u32 %r1, [%r2];', "'%r2' has 32 bits, but addresses in .global have 64"],
  ['ld.relaxed.u32 %r1, [%rd1];', "'ld.u32' needs one of .cta, .cluster, .gpu, .sys"],
  ['ld.global.shared.u32 %r1, [%rd1];', "'.shared' and '.global' of 'ld' exclude each other"],
  ['mul.s32.wide %rd1, %r1, %r2;', "'.wide' of 'mul' must precede its other modifiers"],
  ['cp.async.ca.shared.global [sv], [%rd1], 5;', "5 in 'cp.async.ca.shared.global' is not one of 4"],
  ['atom.global.inc.s32 %r1, [%rd1], 5;', "'.inc' of 'atom' does not go with '.s32'"],
  ['mov.b64 {%h1, %h2, %h3}, %rd1;', "3 parts do not make up the 64 bits of 'mov.b64'"],
  [
    'add.bf16 %h1, %h2, %h3;',
    "'add.bf16' needs PTX 7.8 or newer and a target from sm_90 on; this is PTX 7.0 for sm_80",
    '7.0',
    'sm_80',
  ],
  [
    'ld.shared::cta.u32 %r1, [sv];',
    "'ld.shared::cta.u32' needs PTX 7.8 or newer; this is PTX 7.0 for sm_80",
    '7.0',
    'sm_80',
  ],
  ['ret;', "PTX 7.0 does not know 'sm_90'; '.version 7.8' is the first that does", '7.0', 'sm_90'],
];

describe('PTX that ptxas refuses is refused', () => {
  for (const [line, said, version, target] of WRONG)
    it(line, () => {
      expect(faults(body(line, version, target))).toEqual([said]);
    });
  it('but a target in a body, which does nothing, is taken', async (context) => {
    const text = body('.target sm_80');
    expect(faults(text)).toEqual([]);
    if (spawnSync('ptxas', ['--version']).status !== 0) context.skip();
    expect(await taken('target-in-body', text)).toBe(true);
  });
  it('directives of later versions', () => {
    const text =
      '.version 7.0\n.target sm_80\n.func f() .noreturn { exit; }\n.visible .entry k() .maxclusterrank 4 { ret; }\n';
    expect(faults(text)).toEqual([
      "'.maxclusterrank' needs PTX 7.8 or newer and a target from sm_90 on; this is PTX 7.0 for sm_80",
    ]);
  });
});

describe('the table of forms', () => {
  it('is what src/ptx/syntax.generated.ts was made of', () => {
    const file = fileURLToPath(new URL('../../src/ptx/syntax.generated.ts', import.meta.url));
    expect(generatedSyntax()).toBe(readFileSync(file, 'utf8'));
  });
  it.each([
    ['add', 'a form is WORDS : OPERANDS'],
    ['$none : t', "there is no set '$none'"],
    ['<u32> : =t s', "'s' has a type that the form does not name"],
    ['<u32> : =t q', "'q' of 'q' is not a kind of operand"],
    ['<u32> : =t t:9..', "'t:9..' has no range such as 0..15, %32 or 4/8/16"],
    ['<u32> : =t ; sm_', "'sm_' is not a version and target, such as '7.8 sm_90' or 'until 6.3'"],
  ])('%s is reported', (form, said) => {
    expect(() => readForm(form, {})).toThrow(said);
  });
});

const dir = mkdtempSync(join(tmpdir(), 'orrery-accept-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Does ptxas take a text? */
async function taken(name: string, text: string): Promise<boolean> {
  const file = join(dir, `${name}.ptx`);
  writeFileSync(file, text);
  const target = /\.target\s+(\w+)/.exec(text)?.[1] ?? 'sm_90';
  // What is older than the oldest machine of this ptxas is compiled for that.
  const arch = Number(/\d+/.exec(target)?.[0]) < 75 ? 'sm_75' : target;
  const args = ['-O0', `-arch=${arch}`, file, '-o', join(dir, `${name}.cubin`)];
  return (await command('ptxas', args)).code === 0;
}

/** Kernels small enough to be compiled often. */
const kernels = ((root: string) =>
  readdirSync(root, { withFileTypes: true })
    .filter((d) => d.isDirectory())
    .flatMap((d) => readdirSync(join(root, d.name)).map((f) => join(root, d.name, f)))
    .filter((f) => f.endsWith('.ptx'))
    .map((f) => readFileSync(f, 'utf8'))
    .filter((text) => text.length < 20_000))(fileURLToPath(new URL('../kernels', import.meta.url)));

/** The mutant of a seed: of any kernel, in any line. */
function mutantOf(seed: number): Mutant {
  const text = kernels[randomOf(seed)(kernels.length)];
  for (let t = 0; ; t++) {
    const m = mutant(text, seed * 31 + t);
    if (m !== null) return m;
  }
}

// What is left of some 70,000 mutants and lines that were tried: forms that ptxas takes and the PTX ISA does not have (`addc.s16`), and
// operands of conversions that only some types may have (`cvt.rn.f32.u8 %f1, %tid.x`).
describe.skipIf(spawnSync('ptxas', ['--version']).status !== 0)(
  'ptxas and the check agree (needs ptxas)',
  () => {
    it('on lines that are wrong', async () => {
      const list = WRONG.slice();
      const work = async (name: string): Promise<void> => {
        for (let next = list.pop(); next !== undefined; next = list.pop()) {
          const [line, , version, target] = next;
          expect([line, await taken(name, body(line, version, target))]).toEqual([line, false]);
        }
      };
      await Promise.all(['a', 'b'].map(work));
    }, 60_000);

    it('on mutants of kernels', async () => {
      const list = seeds(60);
      const cases = list.length;
      const differences: string[] = [];
      let refused = 0;
      const work = async (name: string): Promise<void> => {
        for (let seed = list.pop(); seed !== undefined; seed = list.pop()) {
          const m = mutantOf(seed);
          const theirs = await taken(name, m.text);
          const ours = faults(m.text);
          if (!theirs) refused++;
          if (theirs !== (ours.length === 0))
            differences.push(
              `seed ${seed}, line ${m.line}: ${m.what}: ${ours[0] ?? 'only ptxas refuses it'}`,
            );
        }
      };
      await Promise.all(['a', 'b', 'c', 'd'].map(work));
      expect(differences).toEqual([]);
      // Mutants that nobody refuses would show nothing.
      expect(refused).toBeGreaterThan(cases * 0.6);
    }, 600_000);
  },
);

import { describe, expect, it } from 'vitest';
import { type InstructionForm, readForm } from '../../src/ptx/forms.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { PTX_SYNTAX } from '../../src/ptx/syntax.generated.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { drawForm, drawShares, type FormText, IN, kernelOf, OUT } from '../support/form-texts.ts';
import { Numbers } from '../support/forms.ts';
import { testIsa } from '../support/isa.ts';
import { seeds } from '../support/size.ts';

/*
 * A PTX instruction reads all operands, its guard included, before it writes (PTX ISA 9.0, 9.3). An instruction lowered to several
 * operations must do the same if a result is also a source, or the guard.
 */

const isa = testIsa();
const BASE = 0x160;
const THREADS = 64;

const inputs = new Uint8Array(THREADS * IN);
const view = new DataView(inputs.buffer);
const numbers = new Numbers(7);
const SPECIAL = [0, 1, -1, 0x7fffffff, -0x80000000, 0x3f800000, 0x40490fdb, 0x7fc00001, 31, 0x3c00];
for (let at = 0; at < inputs.length; at += 4)
  view.setInt32(
    at,
    numbers.below(3) === 0 ? SPECIAL[numbers.below(SPECIAL.length)] : numbers.below(2 ** 32) | 0,
    true,
  );

/** What a kernel leaves, or why it does not run. */
function run(text: string): Uint8Array[] | string {
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  if (diagnostics.length > 0) return diagnostics[0].message;
  const { program } = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_100a' });
  if (program.functions.length === 0) return 'not lowered';
  const buffer = (bytes: Uint8Array) =>
    ({ kind: 'buffer', type: 'u8', length: bytes.length, bytes, expect: null, tolerance: 0 }) as const;
  const params = [inputs.slice(), new Uint8Array(THREADS * OUT), inputs.slice()].map(buffer);
  const launch = {
    name: 't',
    kernel: 'k',
    grid: [1, 1, 1],
    block: [THREADS, 1, 1],
    dynamicShared: 0,
    params,
  } as const;
  const r = runLaunch(program, isa, launch, BASE, { counters: false, budget: 100_000 });
  return r.status === 'ok' ? r.buffers.map((b) => b ?? new Uint8Array(0)) : (r.error ?? r.status);
}

const GUARDS = ['@', '@!', ''] as const;

/** Forms whose results are not for the program to know: what else runs, or has run, tells. */
const UNSTEADY = /^(mbarrier|getctarank|mapa|activemask)\b/;

describe('registers that an instruction reads and writes', () => {
  const all = Object.entries(PTX_SYNTAX.instructions).flatMap(([opcode, forms]) =>
    forms.map((text): [string, InstructionForm] => [opcode, readForm(text, PTX_SYNTAX.sets)]),
  );
  const ran = new Set<string>();
  let pairs = 0;
  it('give what registers of their own give', () => {
    const wrong: string[] = [];
    for (const seed of seeds(3))
      all.forEach(([opcode, form], k) => {
        const n = new Numbers(seed * 1000 + k);
        const drawn: FormText | null = drawForm(opcode, form, n);
        if (drawn === null || UNSTEADY.test(drawn.name) || !drawn.slots.some((s) => s.result)) return;
        const guard = GUARDS[n.below(3)];
        const shares = drawShares(drawn, guard !== '', n);
        if (shares.size === 0) return;
        const apart = run(kernelOf(drawn, shares, guard, true));
        if (typeof apart === 'string') return;
        ran.add(opcode);
        if (drawn.slots.filter((s) => s.result).length > 1) pairs++;
        const shared = run(kernelOf(drawn, shares, guard, false));
        const same = typeof shared !== 'string' && shared.every((b, i) => Buffer.compare(b, apart[i]) === 0);
        if (!same)
          wrong.push(
            `${guard} ${drawn.text} ${JSON.stringify([...shares])} ${typeof shared === 'string' ? shared : ''}`,
          );
      });
    expect(wrong).toEqual([]);
    expect(ran.size).toBeGreaterThan(60);
    expect(pairs).toBeGreaterThan(80);
  });
});

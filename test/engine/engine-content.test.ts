import { describe, expect, it } from 'vitest';
import { contentHash } from '../../src/engine/content.ts';
import { MemoryCache } from '../../src/engine/memory-cache.ts';
import { host, runPipeline } from '../../src/engine/pipeline.ts';
import { packProgram, unpackProgram } from '../../src/ir/pack/index.ts';
import type { Fn, Instr, Program } from '../../src/ir/program.ts';
import { printProgram } from '../../src/ir/text.ts';
import { loadModules, lowerModule } from '../../src/lab/kernels.ts';
import { loadShipped, makePlan } from '../../src/spec/node.ts';

const specs = await loadShipped();
const planOf = async (set: readonly string[]) => {
  const r = { level: 3, sm: 'sm_90', order: 'binary', knobSets: [], set, disable: [] };
  return (await makePlan(r, host, specs)).plan!;
};
const plan = await planOf([]);
const files = ['mandelbrot', 'softmax', 'histogram'].map((k) => `test/kernels/${k}/${k}.sm_90.ptx`);
const inputs = (await loadModules(files)).map((m) => lowerModule(m, plan));
const snapshots = inputs.map(({ program }) => {
  const { input, records } = runPipeline(program, plan);
  return [...new Set([input, ...records.map((r) => r.program)])];
});

describe('the hash of what a program says', () => {
  it('is one for one content, whatever objects it is made of', () => {
    for (const p of snapshots.flat())
      expect(contentHash(unpackProgram(packProgram(p, plan.isa), plan.isa))).toBe(contentHash(p));
  });

  it('differs where snapshots differ', () => {
    const all = snapshots.flat();
    expect(all.length).toBeGreaterThan(20);
    const texts = new Set(all.map((p) => printProgram(p)));
    expect(new Set(all.map((p) => contentHash(p))).size).toBeGreaterThanOrEqual(texts.size);
  });

  it('differs wherever one thing is changed', () => {
    const p = snapshots[0].at(-1)!;
    const hashes = new Set([contentHash(p)]);
    let n = 1;
    const told = (changed: Program, what: string) => {
      hashes.add(contentHash(changed));
      expect([what, hashes.size]).toEqual([what, ++n]);
    };
    const fn = p.functions[0];
    const withFn = (f: Partial<Fn>) => ({ ...p, functions: [{ ...fn, ...f }, ...p.functions.slice(1)] });
    const block = fn.blocks.find((b) => b.ins.some((i) => i.src.length > 0))!;
    const at = block.ins.findIndex((i) => i.src.length > 0);
    const withIns = (i: Partial<Instr>) => {
      const ins = block.ins.with(at, { ...block.ins[at], ...i });
      return withFn({ blocks: fn.blocks.map((b) => (b === block ? { ...block, ins } : b)) });
    };
    const old = block.ins[at];
    const src = old.src[0];
    told(withIns({ op: plan.isa.opcodes.find((o) => o !== old.op)! }), 'op');
    told(withIns({ mods: old.mods + 1 }), 'mods');
    told(withIns({ guard: old.guard + 1 }), 'guard');
    told(withIns({ guardNot: !old.guardNot }), 'guardNot');
    told(withIns({ dst: [...old.dst, 3] }), 'dst');
    told(withIns({ otherwise: [...old.otherwise, 3] }), 'otherwise');
    told(withIns({ loc: old.loc + 1 }), 'loc');
    for (const key of ['kind', 'reg', 'lo', 'hi', 'mods'] as const)
      told(withIns({ src: [{ ...src, [key]: src[key] + 1 }, ...old.src.slice(1)] }), `src ${key}`);
    told(withIns({ src: [{ ...src, sym: 'x' }, ...old.src.slice(1)] }), 'src sym');
    told(withIns({ src: [...old.src, src] }), 'one more src');
    told(withFn({ blocks: fn.blocks.map((b) => (b === block ? { ...b, id: 9999 } : b)) }), 'block id');
    told(withFn({ blocks: fn.blocks.map((b) => (b === block ? { ...b, name: 'x' } : b)) }), 'block name');
    told(withFn({ blocks: [...fn.blocks].reverse() }), 'layout');
    told(withFn({ name: 'x' }), 'function');
    told(withFn({ regCount: fn.regCount + 1 }), 'registers');
    told(withFn({ blockCount: fn.blockCount + 1 }), 'blocks');
    told(withFn({ tables: [...fn.tables, [0]] }), 'tables');
    told(withFn({ attrs: { ...fn.attrs, noreturn: !fn.attrs.noreturn } }), 'attributes');
    told({ ...p, name: 'x' }, 'name');
    told({ ...p, target: 'sm_1' }, 'target');
    told({ ...p, functions: [] }, 'functions');
    told({ ...p, locs: [...p.locs, p.locs[0]] }, 'locs');
    const v = {
      name: 'v',
      space: 'global',
      type: 'b8',
      size: 2,
      align: 1,
      linkage: '',
      relocs: [],
      attrs: [],
    } as const;
    told({ ...p, variables: [...p.variables, { ...v, init: null }] }, 'variables');
    told({ ...p, variables: [...p.variables, { ...v, init: new Uint8Array([1, 2]) }] }, 'bytes');
    told({ ...p, variables: [...p.variables, { ...v, init: new Uint8Array([12]) }] }, 'other bytes');
  });

  it('a knob that changes no code costs its phase, and none after it', async () => {
    const cache = new MemoryCache();
    const { program } = inputs[1];
    const ran = async (set: readonly string[]) => {
      const { records } = runPipeline(program, await planOf(set), { cache, inputKey: 'k' });
      return records.filter((r) => r.outcome === 'ran' && !r.cached).map((r) => r.phase.id);
    };
    await ran(['GeneralOptimizeLateBudget=1000']);
    expect(await ran(['GeneralOptimizeLateBudget=1001'])).toEqual(['GeneralOptimizeLate']);
  });
});

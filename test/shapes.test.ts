import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { host, runPipeline } from '../src/engine/pipeline.ts';
import type { Program } from '../src/ir/program.ts';
import { loadShipped, makePlan } from '../src/spec/node.ts';
import { testIsa } from './support/isa.ts';
import { kernelNames, kernelOf } from './support/kernel-set.ts';

/*
 * V8 describes each object by a map. Code that meets a second map for what it reads is compiled again, and a spread makes a
 * map of its own wherever it stands: when instructions had three, and slots 139, a run took half as long again.
 */

setFlagsFromString('--allow-natives-syntax');
const haveSameMap = runInThisContext('(a, b) => %HaveSameMap(a, b)') as (a: object, b: object) => boolean;
// A function is parsed when it is first called.
haveSameMap({}, {});
setFlagsFromString('--no-allow-natives-syntax');

/** Objects by what they are: one for each map, with what has it. */
class Maps {
  private readonly kinds = new Map<string, { readonly first: object; readonly where: string }[]>();
  private readonly seen = new WeakSet<object>();

  note(kind: string, x: object, where: string): void {
    const known = this.kinds.get(kind);
    if (known === undefined) this.kinds.set(kind, [{ first: x, where }]);
    else if (!known.some((k) => haveSameMap(k.first, x))) known.push({ first: x, where });
  }

  program(p: Program, where: string): void {
    for (const fn of p.functions) {
      if (this.seen.has(fn)) continue;
      this.seen.add(fn);
      this.note('function', fn, where);
      this.note('attributes', fn.attrs, where);
      this.note('parameters', fn.params, where);
      this.note('results', fn.returns, where);
      this.note('tables', fn.tables, where);
      for (const q of [...fn.params, ...fn.returns]) this.note('parameter', q, where);
      for (const b of fn.blocks) {
        if (this.seen.has(b)) continue;
        this.seen.add(b);
        this.note('block', b, where);
        if (b.ins.length > 0) this.note('instructions', b.ins, where);
        for (const x of b.ins) {
          if (this.seen.has(x)) continue;
          this.seen.add(x);
          const at = `${where}: ${x.op.name}`;
          this.note('instruction', x, at);
          this.note('sources', x.src, at);
          this.note('destinations', x.dst, at);
          this.note('values under a false guard', x.otherwise, at);
          for (const o of x.src) this.note('operand', o, `${at}, operand of kind ${o.kind}`);
        }
      }
    }
  }

  /** Kinds with several maps, and where each was first seen. */
  several(): string[] {
    return [...this.kinds].flatMap(([kind, list]) =>
      list.length === 1 ? [] : [`${kind}: ${list.map((k) => k.where).join('; ')}`],
    );
  }
}

describe('shapes of objects', () => {
  it('tells maps apart', () => {
    const maps = new Maps();
    maps.note('x', { a: 1, b: 2 }, 'first');
    maps.note('x', { b: 1, a: 2 }, 'second');
    expect(maps.several()).toEqual(['x: first; second']);
  });

  it('are one for all slots of the instruction set', () => {
    const maps = new Maps();
    for (const op of testIsa().opcodes) {
      maps.note('opcode', op, op.name);
      maps.note('slots', op.dsts, op.name);
      maps.note('slots', op.srcs, op.name);
      for (const s of [...op.dsts, ...op.srcs]) maps.note('slot', s, op.name);
    }
    expect(maps.several()).toEqual([]);
  });

  it('are one for all instructions, operands, blocks and functions of a run', async () => {
    const specs = await loadShipped();
    const request = { level: 3, sm: 'sm_80', order: 'binary', knobSets: [], set: [], disable: [] };
    const { plan } = await makePlan(request, host, specs);
    const maps = new Maps();
    for (const name of kernelNames.filter((_, i) => i % 3 === 0)) {
      const { program } = await kernelOf(name);
      maps.program(program, `${name} as lowered`);
      runPipeline(program, plan!, {
        onPhase: (r) => maps.program(r.program, `${name} after ${r.phase.id}`),
      });
    }
    expect(maps.several()).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import {
  FALLBACKS,
  fallbackPlan,
  type LossQuestion,
  limitLoss,
  loses,
  retreatText,
} from '../../src/cli/optimize/max-loss.ts';
import type { Assembled } from '../../src/cli/optimize/ptxas-run.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import type { PtxasUse } from '../../src/lab/measure.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { planWith, shipped } from '../support/specs.ts';

/*
 * The fallback order of --max-loss: plan, recipes, input. A stand-in for ptxas counts the resources of a kernel and its callees, as ptxas
 * does.
 */

/** Two kernels, one of which calls a function that a third calls too; each has a branch that phase 63 converts to a guarded load. */
const guarded = (name: string, more: string): string => `.visible .entry ${name}(.param .u64 a) {
.reg .b64 %d; .reg .b32 %r, %t; .reg .pred %p;
ld.param.u64 %d, [a]; mov.u32 %t, %tid.x; mov.u32 %r, 7; setp.gt.u32 %p, %t, 5; @%p bra L_${name};
ld.global.u32 %r, [%d+4];
L_${name}: add.u32 %r, %r, 1; add.u32 %r, %r, 2; st.global.u32 [%d], %r; ${more} ret; }`;
const TEXT = `.version 8.0
.target sm_80
.address_size 64
.func listed;
.global .u64 table[1] = {listed};
.func listed { .reg .b32 %y; mov.u32 %y, %tid.x; add.u32 %y, %y, 1; add.u32 %y, %y, 2; ret; }
.func helper(.param .b64 q) { .reg .b64 %x; .reg .b32 %y; ld.param.b64 %x, [q]; ld.u32 %y, [%x]; add.u32 %y, %y, 1; add.u32 %y, %y, 2; st.u32 [%x], %y; ret; }
${guarded('alone', '')}
${guarded('caller', '{ .param .b64 q; st.param.b64 [q], %d; call helper, (q); }')}
${guarded('lists', 'mov.u64 %d, table; st.global.u64 [%d+8], %d;')}
${guarded('other', '{ .param .b64 q; st.param.b64 [q], %d; call helper, (q); }')}
`;

const use = (name: string, registers: number): PtxasUse => ({
  name,
  registers,
  spillStores: 0,
  spillLoads: 0,
  stack: 0,
  code: 128,
  instructions: 8,
});

/** The text of each function. */
const bodies = (text: string): Map<string, string> =>
  new Map(
    text
      .split(/^(?=\.visible \.entry|\.func)/m)
      .slice(1)
      .map((body) => [/(?:entry|func) (\w+)/.exec(body)![1], body.trim()]),
  );

const KERNELS = ['alone', 'caller', 'lists', 'other'];

/** @param registers of a kernel, by its text and that of another function */
async function limited(
  registers: (name: string, body: string, other: string) => number,
  other = 'helper',
  recipes: readonly string[] = [],
) {
  const plan = (await planWith({ order: 'binary', recipes: [...recipes] })).plan!;
  const { module } = parsePtx(TEXT, 'k.ptx');
  const paramBase = Number(plan.backend.facts['param-base']);
  const { program: input } = lowerPtx(module, { isa: plan.isa, paramBase, sm: plan.sm });
  const table = new PtxTable(shipped.ptx!.data as unknown as PtxDoc);
  const write = async (p: Program, keep?: ReadonlySet<string>) =>
    emitPtx(p, { table, paramBase, module, keep }).text;
  let assembled = 0;
  const q: LossQuestion = {
    text: TEXT,
    input,
    made: runPipeline(input, plan).last,
    makeWith: async (recipe) =>
      runPipeline(input, (await planWith({ order: 'binary', recipes: [recipe] })).plan!).last,
    fallbacks: ['few-registers'],
    write,
    assemble: (text): Assembled => {
      assembled++;
      const all = bodies(text);
      const functions = KERNELS.map((n) => use(n, registers(n, all.get(n)!, all.get(other)!)));
      return { ok: true, messages: '', functions, cubin: new Uint8Array() };
    },
    percent: 2,
  };
  const r = await limitLoss(q);
  return {
    ...r,
    assembled,
    texts: bodies(await write(r.program, r.keep)),
    by: Object.fromEntries(r.retreats.map((x) => [x.fn, x.by])),
  };
}

const ORIGINAL = bodies(TEXT);
const isGuarded = (body: string): boolean => /@!?%p\d+ ld\.global/.test(body);

describe('a kernel of which ptxas makes too much', () => {
  it('is looked for once where there is none', async () => {
    const r = await limited(() => 16);
    expect([r.retreats, r.keep.size, r.assembled]).toEqual([[], 0, 2]);
    for (const n of KERNELS) expect(isGuarded(r.texts.get(n)!)).toBe(true);
  });
  it('is taken from the first recipe that helps, and no other is touched', async () => {
    const r = await limited((name, body) => (name === 'alone' && isGuarded(body) ? 20 : 16));
    expect(r.by).toEqual({ alone: 'few-registers' });
    expect(isGuarded(r.texts.get('alone')!)).toBe(false);
    expect(isGuarded(r.texts.get('caller')!)).toBe(true);
    expect(retreatText(r.retreats[0])).toBe(
      "'alone' is optimized with recipe 'few-registers': by the plan, 16 -> 20 registers",
    );
  });
  it('stays as it came where none helps', async () => {
    const r = await limited((name, body) => (name === 'alone' && body !== ORIGINAL.get(name) ? 20 : 16));
    expect([r.by, [...r.keep]]).toEqual([{ alone: null }, ['alone']]);
    expect(r.texts.get('alone')).toBe(ORIGINAL.get('alone'));
    expect(retreatText(r.retreats[0])).toBe("'alone' is kept unchanged: by the plan, 16 -> 20 registers");
  });
  it('falls back with its callees, and with others that call the same', async () => {
    const came = ORIGINAL.get('helper');
    const r = await limited((name, _, helper) => (name === 'caller' && helper !== came ? 20 : 16));
    expect(r.by).toEqual({ caller: null, other: null });
    expect([...r.keep].sort()).toEqual(['caller', 'helper', 'other']);
    expect(isGuarded(r.texts.get('alone')!)).toBe(true);
  });
  it('falls back with functions whose addresses it has in a table', async () => {
    const came = ORIGINAL.get('listed');
    const r = await limited((name, _, listed) => (name === 'lists' && listed !== came ? 20 : 16), 'listed');
    expect([...r.keep].sort()).toEqual(['listed', 'lists']);
  });
  it('has again what the plan removed', async () => {
    // Inlined, `helper` is gone; the input calls it.
    const inlined = await limited(() => 16, 'helper', ['inline']);
    expect(inlined.program.functions.map((f) => f.name)).not.toContain('helper');
    const body = ORIGINAL.get('caller');
    const r = await limited((name, b) => (name === 'caller' && b !== body ? 20 : 16), 'helper', ['inline']);
    expect(r.keep).toContain('helper');
    expect(r.program.functions.map((f) => f.name)).toContain('helper');
    expect(r.texts.get('helper')).toBe(ORIGINAL.get('helper'));
  });
});

it('a percentage is a limit for registers and for code; spills may not grow at all', () => {
  const was = { ...use('k', 100), code: 1000, spillStores: 4 };
  const by = (change: Partial<PtxasUse>): boolean => loses(was, { ...was, ...change }, 2);
  expect([by({}), by({ registers: 102 }), by({ registers: 103 })]).toEqual([false, false, true]);
  expect([by({ code: 1020 }), by({ code: 1024 })]).toEqual([false, true]);
  expect([by({ spillStores: 3 }), by({ spillStores: 5 }), by({ spillLoads: 1 })]).toEqual([
    false,
    true,
    true,
  ]);
});

it('a fallback does less than was asked for, never more', async () => {
  expect(FALLBACKS).toEqual(['few-registers', 'quick-build']);
  const level = async (asked: string | undefined, recipe: string) =>
    (await fallbackPlan(asked === undefined ? {} : { level: asked }, recipe, TEXT)).level;
  expect(await level('3', 'few-registers')).toBe(3);
  expect(await level('2', 'few-registers')).toBe(2);
  expect([await level('3', 'quick-build'), await level(undefined, 'quick-build')]).toEqual([1, 1]);
  expect(await level('0', 'quick-build')).toBe(0);
});

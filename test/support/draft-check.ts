import { draftCfg } from '../../src/analysis/flow/draft-cfg.ts';
import { type Draft, pinnedBlocks } from '../../src/ir/draft/index.ts';
import { endsFlow, isControl, isPhi } from '../../src/ir/flow.ts';
import { Kind, NO_REG, type Reg } from '../../src/ir/operand.ts';
import type { Instr } from '../../src/ir/program.ts';

/** Registers that an instruction reads, one entry per occurrence. */
const readsOf = (x: Instr): Reg[] => [
  ...x.src.map((o) => o.reg),
  ...(x.guard === NO_REG ? [] : [x.guard, ...x.otherwise]),
];

/** Edges out of a block, derived only from its instructions and its successor in layout. */
function slowEdges(d: Draft, b: number, chain: readonly number[]): number[] {
  const out: number[] = [];
  for (const n of chain) {
    const x = d.at(n);
    if (!isControl(x)) continue;
    for (const o of x.src) {
      if (o.kind === Kind.Label) out.push(d.blockById(o.lo));
      if (o.kind !== Kind.Table) continue;
      for (const id of d.tables()[o.lo]) if (!out.includes(d.blockById(id))) out.push(d.blockById(id));
    }
    if (endsFlow(x)) return out;
  }
  return [...out, d.fall(b)];
}

const counted = (all: readonly Reg[]): Map<Reg, number> => {
  const out = new Map<Reg, number>();
  for (const r of all) if (r !== NO_REG) out.set(r, (out.get(r) ?? 0) + 1);
  return out;
};
const sorted = (a: readonly number[]): number[] => [...a].sort((x, y) => x - y);
const same = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((v, i) => v === b[i]);

/**
 * Compares all indices that a draft maintains with a direct computation from its instructions.
 *
 * @param ssa also requires each phi to have exactly one operand per predecessor
 * @returns what is wrong; empty if nothing is
 */
export function draftFaults(d: Draft, ssa: boolean): string[] {
  const faults: string[] = [];
  const expect = (ok: boolean, what: string): void => {
    if (!ok) faults.push(what);
  };
  const layout = d.layout();
  layout.forEach((b, i) => {
    expect(d.isAlive(b), `block ${b} stands in the layout and is not alive`);
    expect(d.above(b) === (layout[i - 1] ?? -1), `above(${b})`);
    expect(d.below(b) === (layout[i + 1] ?? -1), `below(${b})`);
    expect(d.blockById(d.id(b)) === b, `blockById(id(${b}))`);
  });
  expect(d.lastBlock === (layout.at(-1) ?? -1), 'lastBlock');
  expect(new Set(layout.map((b) => d.id(b))).size === layout.length, 'ids are unique');
  for (let b = 0; b < d.blockNumbers; b++)
    if (!layout.includes(b)) expect(!d.isAlive(b), `block ${b} is alive and stands nowhere`);

  const chains = new Map<number, number[]>();
  const standing = new Set<number>();
  for (const b of layout) {
    const chain: number[] = [];
    for (let n = d.first(b); n >= 0; n = d.next(n)) {
      expect(d.previous(n) === (chain.at(-1) ?? -1), `previous(${n})`);
      expect(d.block(n) === b, `block(${n})`);
      expect(!standing.has(n), `instruction ${n} stands twice`);
      chain.push(n);
      standing.add(n);
    }
    expect(d.last(b) === (chain.at(-1) ?? -1), `last(${b})`);
    for (let i = 0; i + 1 < chain.length; i++)
      expect(
        d.precedes(chain[i], chain[i + 1]) && !d.precedes(chain[i + 1], chain[i]),
        `precedes(${chain[i]}, ${chain[i + 1]})`,
      );
    chains.set(b, chain);
  }
  for (let n = 0; n < d.instructionNumbers; n++)
    if (!standing.has(n)) expect(d.isRemoved(n), `instruction ${n} stands nowhere and is not removed`);

  const at = [...standing];
  const uses = counted(at.flatMap((n) => readsOf(d.at(n))));
  const defs = counted(at.flatMap((n) => [...d.at(n).dst]));
  const params = (d.renamed.params ?? d.fn.params.map((p) => p.reg)).filter((r) => r !== NO_REG);
  const returns = (d.renamed.returns ?? d.fn.returns.map((p) => p.reg)).filter((r) => r !== NO_REG);
  const named = new Set([...uses.keys(), ...defs.keys(), ...params, ...returns]);
  for (const p of d.fn.params) if (p.reg !== NO_REG) named.add(p.reg);
  for (const r of named) {
    const count = (uses.get(r) ?? 0) + (returns.includes(r) ? 1 : 0);
    expect(d.useCount(r) === count, `useCount(${r}) is ${d.useCount(r)}, not ${count}`);
    expect(d.defCount(r) === (defs.get(r) ?? 0), `defCount(${r}) is ${d.defCount(r)}`);
    expect(d.isParam(r) === params.includes(r), `isParam(${r})`);
    const users = at.filter((n) => readsOf(d.at(n)).includes(r));
    const definers = at.filter((n) => d.at(n).dst.includes(r));
    expect(same(sorted(d.users(r)), sorted(users)), `users(${r}) are ${d.users(r)}, not ${users}`);
    expect(same(sorted(d.definitions(r)), sorted(definers)), `definitions(${r})`);
    let seen = 0;
    d.eachUse(r, () => seen++);
    expect(seen === (uses.get(r) ?? 0), `eachUse(${r})`);
    const only = defs.get(r) === 1 && !params.includes(r) ? definers[0] : -1;
    expect(d.def(r) === only, `def(${r}) is ${d.def(r)}, not ${only}`);
    const first = d.firstDef(r);
    expect(definers.length === 0 ? first === -1 : definers.includes(first), `firstDef(${r})`);
  }

  const pred = new Map<number, Set<number>>(layout.map((b) => [b, new Set<number>()]));
  for (const b of layout) {
    const chain = chains.get(b)!;
    const ends = chain.some((n) => endsFlow(d.at(n)));
    expect(ends ? d.fall(b) < 0 : d.fall(b) >= 0, `fall(${b}) is ${d.fall(b)}`);
    const edges = slowEdges(d, b, chain);
    expect(same(d.edges(b), edges), `edges(${b}) are ${d.edges(b)}, not ${edges}`);
    const successors = [...new Set(edges)];
    expect(same(d.successors(b), successors), `successors(${b}) are ${d.successors(b)}, not ${successors}`);
    for (const s of successors) {
      expect(layout.includes(s), `${b} leads to ${s}, which is gone`);
      pred.get(s)?.add(b);
    }
  }
  for (const to of pinnedBlocks(d)) expect(layout.includes(to), `${to} is named, and is gone`);
  for (const b of layout) {
    const want = sorted([...pred.get(b)!]);
    expect(same(sorted(d.predecessors(b)), want), `predecessors(${b}) are ${d.predecessors(b)}, not ${want}`);
    if (!ssa) continue;
    const chain = chains.get(b)!;
    const phis = chain.filter((n) => isPhi(d.at(n)));
    expect(same(d.phis(b), phis), `phis(${b})`);
    expect(same(phis, chain.slice(0, phis.length)), `phis of ${b} stand on top`);
    for (const phi of phis) {
      const { src } = d.at(phi);
      const ways = src.filter((_, k) => k % 2 === 0).map((o) => d.blockById(o.lo));
      expect(same(sorted(ways), want), `phi ${phi} has ways from ${ways}, not ${want}`);
      for (const p of ways)
        expect(
          d.incoming(phi, p) === src[src.findIndex((o, k) => k % 2 === 0 && o.lo === d.id(p)) + 1],
          'way',
        );
    }
  }

  const g = draftCfg(d);
  for (const b of layout) {
    const row = [...g.succ.subarray(g.succStart[b], g.succStart[b + 1])];
    expect(same(row, d.successors(b)), `draftCfg: successors of ${b} are ${row}`);
    const back = sorted([...g.pred.subarray(g.predStart[b], g.predStart[b + 1])]);
    expect(same(back, sorted([...pred.get(b)!])), `draftCfg: predecessors of ${b} are ${back}`);
    expect(g.positionOf[d.id(b)] === b, `draftCfg: positionOf(${d.id(b)})`);
  }
  if (layout.length > 0) expect(g.rpo[0] === d.entryBlock, 'draftCfg begins at the entry');
  for (const p of d.pragmas)
    expect(d.blockById(p.block) >= 0, `a pragma stands at BB${p.block}, which is gone`);
  return faults;
}

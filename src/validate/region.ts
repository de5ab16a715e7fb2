import { cfgOf, isControl } from '../analysis/flow/cfg.ts';
import { inLoop, loopBlocks } from '../analysis/loops/loops.ts';
import { nestingOf } from '../analysis/loops/nesting.ts';
import { isCall } from '../analysis/memory/memory-ops.ts';
import { isLiveIn, livenessOf, returnedRegs } from '../analysis/registers/liveness.ts';
import { isPhi } from '../ir/flow.ts';
import { countsBytes, ENTRY_SHIFT } from '../ir/jump-table.ts';
import { memo } from '../ir/memo.ts';
import { hasMod } from '../ir/opcode.ts';
import { Kind, Mod, NO_REG, type Operand, type Reg, regWidth } from '../ir/operand.ts';
import type { Fn, Instr, Program } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import type { Symbols } from './symbols.ts';
import { type Access, type Claim, isUniformFile, Thread } from './thread.ts';
import type { Trace } from './trace.ts';
import type { Values } from './values.ts';

/** Where control leaves a region: to a block, given by id, or to the end of the thread or function. */
export type Target = number | 'exit' | 'return';

/** A way out of a region: its condition, and the values of the registers that are live there. */
export interface Way {
  readonly target: Target;
  readonly condition: number;
  readonly registers: ReadonlyMap<Reg, number>;
  /** The same values before they are simplified by the condition. */
  readonly computed: ReadonlyMap<Reg, number>;
}

/** The effect of a region, symbolic in the values of registers and memory at its start. */
export interface Run {
  readonly ways: readonly Way[];
  readonly trace: Trace;
  readonly accesses: readonly Access[];
  readonly claims: readonly Claim[];
  /** Ids of its blocks in topological order. */
  readonly blocks: readonly number[];
}

/** One version of a function, and the cuts of its regions. */
export interface Version {
  readonly program: Program;
  readonly fn: Fn;
  /** Positions of the blocks at which regions begin and end. */
  readonly cuts: ReadonlySet<number>;
}

interface Edge {
  readonly condition: number;
  readonly registers: Map<Reg, number>;
}

/** Registers that are live into a block, and the results of its phis. */
export function liveAt(fn: Fn, position: number): Reg[] {
  const l = livenessOf(fn);
  const out = [...l.globals.names].filter((r) => r !== NO_REG && isLiveIn(l, r, position));
  for (const ins of fn.blocks[position].ins) {
    if (!isPhi(ins)) break;
    out.push(ins.dst[0]);
  }
  return [...new Set(out)];
}

/**
 * Executes all paths of a region symbolically at once: blocks in topological order, every effect under the condition of its path; at joins,
 * registers are selects over the conditions of the incoming edges (as after full if-conversion).
 *
 * @param start position of the block at which the region begins
 * @param registers values of registers at the start
 * @param symbols leaves that stand for addresses of variables, shared by both versions
 * @throws Unsupported, LimitReached
 */
export function runRegion(
  version: Version,
  start: number,
  registers: ReadonlyMap<Reg, number>,
  values: Values,
  symbols: Symbols,
): Run {
  return new Region(version, values, symbols).run(start, registers);
}

/** For each loop, the uniform registers that it writes. */
const uniformIn = memo((fn: Fn): readonly ReadonlySet<Reg>[] => {
  const f = nestingOf(fn);
  return f.loops.map(
    (_, l) =>
      new Set(
        loopBlocks(f, l).flatMap((b) =>
          fn.blocks[b].ins.flatMap((ins) => ins.dst.filter((r) => isUniformFile(r))),
        ),
      ),
  );
});

class Region {
  private readonly fn: Fn;
  private readonly cuts: ReadonlySet<number>;
  private readonly v: Values;
  private readonly thread: Thread;
  private readonly into = new Map<number, Edge[]>();
  private readonly out: Omit<Way, 'computed'>[] = [];
  private readonly live = new Map<number, readonly Reg[]>();

  constructor({ program, fn, cuts }: Version, values: Values, symbols: Symbols) {
    this.fn = fn;
    this.cuts = cuts;
    this.v = values;
    this.thread = new Thread(program, fn, values, symbols);
  }

  run(start: number, registers: ReadonlyMap<Reg, number>): Run {
    const order = this.order(start);
    this.into.set(start, [{ condition: this.v.yes, registers: new Map(registers) }]);
    for (const at of order) {
      const edges = this.into.get(at);
      if (edges === undefined) continue;
      this.enter(at, edges);
      if (this.thread.path !== this.v.no) this.block(at);
    }
    const { trace, accesses, claims } = this.thread;
    const blocks = order.map((at) => this.fn.blocks[at].id);
    return { ways: this.joined(), trace, accesses, claims, blocks };
  }

  /** Positions of the region's blocks in topological order. @throws Unsupported if the region contains a loop */
  private order(start: number): number[] {
    const { succStart, succ } = cfgOf(this.fn);
    const out: number[] = [];
    const state = new Map<number, 'open' | 'done'>([[start, 'open']]);
    const stack = [{ at: start, next: succStart[start] }];
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      if (top.next === succStart[top.at + 1]) {
        state.set(top.at, 'done');
        out.push(top.at);
        stack.pop();
        continue;
      }
      const to = succ[top.next++];
      if (this.cuts.has(to)) continue;
      const seen = state.get(to);
      if (seen === 'open') throw new Unsupported('a loop without a cut');
      if (seen === 'done') continue;
      state.set(to, 'open');
      stack.push({ at: to, next: succStart[to] });
    }
    return out.reverse();
  }

  private liveIn(at: number): readonly Reg[] {
    let list = this.live.get(at);
    if (list === undefined) {
      this.v.spend(livenessOf(this.fn).globals.names.length);
      this.live.set(at, (list = liveAt(this.fn, at)));
    }
    return list;
  }

  // ------------------------------------------------------------------ flow

  private enter(at: number, edges: readonly Edge[]): void {
    this.thread.path = edges.reduce((c, e) => this.v.either(c, e.condition), this.v.no);
    this.thread.registers =
      edges.length === 1 ? new Map(edges[0].registers) : this.join(this.liveIn(at), edges);
  }

  /** Values of registers where edges join. */
  private join(live: readonly Reg[], edges: readonly Edge[], simplify = true): Map<Reg, number> {
    const { v } = this;
    v.spend(live.length * edges.length);
    const all = edges.reduce((c, e) => v.either(c, e.condition), v.no);
    const out = new Map<Reg, number>();
    for (const r of live) {
      const ways = new Map<number, number>();
      for (const e of edges) {
        const x = e.registers.get(r) ?? this.thread.unset(r);
        ways.set(x, v.either(ways.get(x) ?? v.no, e.condition));
      }
      const list = [...ways].sort((a, b) => a[0] - b[0]);
      let rest = all;
      const parts: [number, number][] = [];
      for (const [x, c] of list) {
        parts.push([v.under(c, rest), x]);
        rest = v.both(rest, v.negation(c));
      }
      let value = parts[parts.length - 1][1];
      for (const [c, x] of parts.slice(0, -1).reverse()) value = v.select(c, x, value);
      if (list.length > 1 && isUniformFile(r))
        this.thread.claims.push({ value, register: r, path: all, also: v.yes });
      out.set(r, regWidth(r) === 1 && simplify ? v.under(value, all) : value);
    }
    return out;
  }

  /** Ways out of the region, merged by target. */
  private joined(): Way[] {
    const by = new Map<Target, Omit<Way, 'computed'>[]>();
    for (const w of this.out) {
      const list = by.get(w.target);
      if (list === undefined) by.set(w.target, [w]);
      else list.push(w);
    }
    return [...by].map(([target, ways]) => {
      const condition = ways.reduce((c, w) => this.v.either(c, w.condition), this.v.no);
      const live =
        typeof target === 'number'
          ? this.liveIn(cfgOf(this.fn).positionOf[target])
          : [...new Set(ways.flatMap((w) => [...w.registers.keys()]))];
      const edges = ways.map((w) => ({ condition: w.condition, registers: new Map(w.registers) }));
      const computed = this.join(live, edges, false);
      const registers = this.join(live, edges);
      for (const [r, x] of registers) registers.set(r, this.v.given(x, condition));
      return { target, condition, registers, computed };
    });
  }

  private go(from: number, to: number, condition: number): void {
    if (condition === this.v.no) return;
    // Lanes that leave a loop early would see what the remaining lanes have written to the warp's registers since.
    if (this.losesUniform(from, to))
      this.thread.claims.push({
        value: condition,
        register: NO_REG,
        path: this.thread.path,
        also: this.v.yes,
      });
    const registers = this.withPhis(from, to, condition);
    if (this.cuts.has(to)) {
      this.out.push({ target: this.fn.blocks[to].id, condition, registers });
      return;
    }
    const edges = this.into.get(to);
    if (edges === undefined) this.into.set(to, [{ condition, registers }]);
    else edges.push({ condition, registers });
  }

  /** True if the edge leaves a loop that writes a uniform register which is live after it. */
  private losesUniform(from: number, to: number): boolean {
    const f = nestingOf(this.fn);
    for (let l = f.innermost[from]; l >= 0 && !inLoop(f, l, to); l = f.loops[l].parent)
      if (this.liveIn(to).some((r) => uniformIn(this.fn)[l].has(r))) return true;
    return false;
  }

  /** Registers on the edge into a block, including the results of its phis. */
  private withPhis(from: number, to: number, condition: number): Map<Reg, number> {
    const { ins } = this.fn.blocks[to];
    this.v.spend(1 + this.thread.registers.size / 4);
    const out = new Map(this.thread.registers);
    for (let i = 0; i < ins.length && isPhi(ins[i]); i++) {
      const { src, dst } = ins[i];
      const k = src.findIndex(
        (o, n) => n % 2 === 0 && o.kind === Kind.Label && o.lo === this.fn.blocks[from].id,
      );
      if (k < 0) throw new Unsupported('a phi without a value for a predecessor');
      const value = this.thread.operand(src[k + 1], regWidth(dst[0]), condition);
      out.set(dst[0], this.modified(src[k + 1], value));
    }
    return out;
  }

  /** Applies the operand modifiers of a phi; other modifiers are part of an opcode's meaning. */
  private modified(o: Operand, value: number): number {
    if (o.mods === 0) return value;
    if (o.mods === Mod.Not && this.v.at(value).width === 1) return this.v.negation(value);
    throw new Unsupported('a modifier of a phi');
  }

  private end(target: 'exit' | 'return', given: readonly Operand[], condition: number): void {
    const registers = new Map<Reg, number>();
    if (target === 'return' && this.fn.kind === 'func') {
      const returned = returnedRegs(this.fn);
      returned.forEach((r, k) => {
        const value =
          given.length > 0
            ? this.modified(given[k], this.thread.operand(given[k], regWidth(r), condition))
            : (this.thread.registers.get(r) ?? this.thread.unset(r));
        registers.set(r, value);
      });
    }
    // Returning from a kernel ends the thread.
    const how = this.fn.kind === 'entry' ? 'exit' : target;
    this.thread.ended = this.v.either(this.thread.ended, condition);
    if (condition !== this.v.no) this.out.push({ target: how, condition, registers });
  }

  private block(at: number): void {
    const { positionOf } = cfgOf(this.fn);
    for (const ins of this.fn.blocks[at].ins) {
      if (isPhi(ins)) continue;
      const guard = this.thread.guardOf(ins);
      const taken = this.v.both(this.thread.path, guard);
      if (isControl(ins) && !isCall(ins)) {
        this.control(at, ins, taken, guard, positionOf);
        this.thread.path = this.v.both(this.thread.path, this.v.negation(guard));
      } else if (taken !== this.v.no) this.thread.instruction(ins, taken, guard);
      if (this.thread.path === this.v.no) return;
    }
    if (at + 1 < this.fn.blocks.length) this.go(at, at + 1, this.thread.path);
    else this.end('return', [], this.thread.path);
  }

  private control(at: number, ins: Instr, taken: number, guard: number, positionOf: Int32Array): void {
    switch (ins.op.primitive) {
      case 'exit':
        this.end('exit', [], taken);
        return;
      case 'return':
        this.end('return', ins.src, taken);
        return;
      case 'branch': {
        const to = ins.src.find((o) => o.kind === Kind.Label);
        if (to === undefined) throw new Unsupported('a branch without a label');
        if (hasMod(ins.op, ins.mods, 'U'))
          this.thread.claims.push({
            value: guard,
            register: NO_REG,
            path: this.thread.path,
            also: this.v.yes,
          });
        this.go(at, positionOf[to.lo], taken);
        return;
      }
      case 'branch-table': {
        const given = this.thread.operand(ins.src[0], 32, taken);
        // The offset is a multiple of an index. Another index with the same offset (modulo 2^32) is out of range, and undefined.
        const index = countsBytes(ins) ? this.v.shared(given, ENTRY_SHIFT) : given;
        if (index === null) throw new Unsupported('a jump table with an offset whose index is unknown');
        if (hasMod(ins.op, ins.mods, 'U'))
          this.thread.claims.push({ value: index, register: NO_REG, path: taken, also: this.v.yes });
        const table = this.fn.tables[ins.src[1].lo] ?? [];
        const by = new Map<number, number>();
        table.forEach((id, k) => {
          const is = this.v.node('eq', 1, [index, this.v.constant(BigInt(k), 32)]);
          by.set(id, this.v.either(by.get(id) ?? this.v.no, is));
        });
        for (const [id, c] of by) this.go(at, positionOf[id], this.v.both(taken, c));
        return;
      }
      default:
        throw new Unsupported(`${ins.op.name}, which may go anywhere`);
    }
  }
}

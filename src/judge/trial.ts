import { hasMod, modOf } from '../ir/opcode.ts';
import { NO_REG, type Reg, RegFile, regFile } from '../ir/operand.ts';
import type { Fn, Instr, Program } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import { type Code, isRough } from '../sim/decode.ts';
import type { UsedAs } from '../sim/used-as.ts';
import { definedOf, type Pair } from './defined.ts';
import {
  type Difference,
  differencesOf,
  differOnlyIn,
  lastStores,
  storeAlike,
  storeLess,
  storesApart,
} from './difference.ts';
import type { Effort } from './effort.ts';
import { semOf } from './features.ts';
import { falselyUniform, newPromise, newRace, readsElsewhere } from './hidden.ts';
import { disorder } from './order.ts';
import { addSeen, type Reached } from './reached.ts';
import { type Run, type RunOptions, runIn, type Subject } from './run.ts';
import { Search } from './search.ts';
import { isOneThread, type Turns, type World } from './world.ts';

/** Result of comparing a kernel with another version of it. */
export interface Judgement {
  readonly same: boolean;
  /** True if a run of usual blocks exhausted its budget; such runs were compared as far as they got. */
  readonly partial: boolean;
  /** True if worlds were left out because time or effort was used up. */
  readonly left: boolean;
  /** True if the kernel's own results depend on the order of its threads; it was then compared with fewer threads or lane by lane. */
  readonly raced: boolean;
  /**
   * Number of worlds in which both versions ran but differences are no evidence: divisions by zero, barriers for part of a warp, racing
   * lanes.
   */
  readonly undefinedIn: number;
  /**
   * True if differing results were accepted, for machine code or with `inexact`, because they depend on the last bits of approximations.
   */
  readonly approximate: boolean;
  /** Descriptions of at most ten differences, all from one world. */
  readonly differences: readonly string[];
  /** A run of the first version in the world of the first difference, and the address of the differing byte, if any. */
  readonly witness: { readonly first: First; readonly address: number | null } | null;
  /** Kind of the first difference, independent of world, addresses and values; '' if there is none. */
  readonly kind: string;
  /** Number of worlds in which both versions ran. */
  readonly worlds: number;
  readonly executed: number;
  /** Warp instructions of the longest run. */
  readonly longest: number;
  /** Coverage of the first version. */
  readonly reached: Reached;
}

/** A run of the first version, and how it uses the values that it reads. */
export interface First {
  readonly world: World;
  readonly run: Run;
  readonly used: UsedAs;
}

/** What the first version does in a world. */
export interface Tried {
  /** Null if the kernel's promises exclude the world, or its behaviour there is undefined. */
  readonly first: First | null;
  /** True if PTX does not define what it does there. */
  readonly isUndefined: boolean;
}

/** The first version of a kernel, as trials need it. */
export interface Original {
  readonly subject: Subject;
  /** The functions that the kernel may call, itself first. */
  readonly functions: readonly Fn[];
  readonly effort: Effort;
  /** True if it orders accesses for threads of other blocks (`Features.wide`). */
  readonly isWide: boolean;
  /** True if other versions may round products and sums differently (`JudgeOptions.inexact`). */
  readonly inexact: boolean;
  /** True if its threads communicate or its lanes exchange values. */
  readonly communicates: boolean;
  readonly reached: Reached;
  /** `Seen` bits of all its runs. */
  readonly seenBefore: Map<Code, Uint8Array>;
  /** Its run in a world. @returns also the warp instructions that this took */
  first(world: World, opts?: RunOptions): Tried & { readonly executed: number };
}

/** Comparison of the first version with one other version. */
export class Trial {
  readonly differences: Difference[] = [];
  private readonly judge: Original;
  private readonly after: Subject;
  private readonly uniform: boolean;
  private readonly readsMask: boolean;
  private readonly fewerStores: boolean;
  private readonly seen = new Map<Code, Uint8Array>();
  private readonly approximates: boolean;
  private readonly sumsFloats: boolean;
  private readonly meets: boolean;
  private readonly hasVolatile: boolean;
  /** True if differing results were accepted because they depend on the last bits of approximations. */
  private approximate = false;
  /** Number of worlds that give no evidence: their behaviour is undefined, or lanes race. */
  private undefinedIn = 0;
  private witness: Judgement['witness'] = null;
  private partial = false;
  private raced = false;
  executed = 0;
  private longest = 0;
  private worlds = 0;

  constructor(judge: Original, after: Subject) {
    this.judge = judge;
    this.after = after;
    this.uniform = hasUniformRegisters(after.program);
    this.readsMask = readsActiveMask(judge.subject.program);
    this.meets = some(judge.subject.program, (x) => x.op.primitive === 'barrier');
    this.hasVolatile = judge.functions.some((f) =>
      f.blocks.some((b) => b.ins.some((x) => semOf(x) === 'VOLATILE')),
    );
    this.sumsFloats = some(judge.subject.program, sumsFloats);
    this.approximates = some(judge.subject.program, (x) => isRough(x) || readsClock(x));
    this.fewerStores = storesIn(after.program) < storesIn(judge.subject.program);
  }

  /** The result so far. @param left whether worlds were left out */
  judgement(left: boolean): Judgement {
    return {
      same: this.differences.length === 0,
      partial: this.partial,
      left,
      raced: this.raced,
      approximate: this.approximate,
      undefinedIn: this.undefinedIn,
      witness: this.witness,
      differences: this.differences.slice(0, 10).map((d) => d.text),
      kind: this.differences[0]?.kind ?? '',
      worlds: this.worlds,
      executed: this.executed,
      longest: this.longest,
      reached: this.judge.reached,
    };
  }

  /** Searches for inputs that make either version do what no world has made it do, and compares there. */
  search(worlds: readonly World[]): void {
    for (const [subject, seen] of [
      [this.judge.subject, this.judge.seenBefore],
      [this.after, this.seen],
    ] as const) {
      const search = new Search(subject, this.judge.effort, (world) => {
        const { first, executed } = this.judge.first(world);
        this.executed += executed;
        return first;
      });
      for (const world of search.worlds(worlds, seen)) {
        this.tryIn(world);
        if (this.differences.length > 0) return;
      }
      this.executed += search.executed;
    }
  }

  /** Compares the versions in a world. */
  tryIn(world: World): void {
    const { first, executed, isUndefined } = this.judge.first(world);
    this.executed += executed;
    if (first === null && isUndefined) {
      this.worlds++;
      this.undefinedIn++;
    }
    if (first === null) return;
    this.worlds++;
    if (isOneThread(world.shape)) this.oneThread(world, first);
    else this.threads(world, first);
  }

  private run(subject: Subject, first: First, opts: RunOptions = {}): Run {
    const r = runIn(subject, first.world, first.used, opts);
    this.executed += r.executed;
    this.longest = Math.max(this.longest, r.executed);
    if (subject === this.after) addSeen(this.seen, r.watcher.seen);
    return r;
  }

  /** `definedOf` for runs in a world. */
  private defined(first: First, a: Run, b: Run, found: Difference[], how: RunOptions = {}): Difference[] {
    const pair: Pair = {
      before: this.judge.subject,
      after: this.after,
      kernel: this.judge.functions[0],
      budget: how.budget ?? first.world.budget,
      how,
      run: (subject, opts) => this.run(subject, first, opts),
      tellsNothing: () => {
        this.undefinedIn++;
      },
    };
    return definedOf(pair, a, b, found);
  }

  /**
   * True if machine code, or a version with inexact rules, differs only in what PTX leaves open: the last bits of approximations and of
   * products and sums that may be fused, or a barrier for part of a warp.
   */
  private isUnpromised(first: First, b: Run): boolean {
    if (!this.after.machine && !this.judge.inexact) return false;
    if (this.after.machine && first.run.unpromised) {
      this.undefinedIn++;
      return true;
    }
    if (!this.approximates) return false;
    // Runs that were cut off are compared again with a larger budget.
    const cut = first.run.status === 'budget' || b.status === 'budget';
    const how: RunOptions = cut ? { budget: first.world.budget * FURTHER } : {};
    const [x, y] = cut
      ? [this.run(this.judge.subject, first, how), this.run(this.after, first, how)]
      : [first.run, b];
    const nudged = NUDGES.map((nudge) => this.run(this.judge.subject, first, { ...how, nudge }));
    if (x.status === 'budget' && y.status === 'budget') {
      // If neither run ends, their stores decide: do all differing stores also change when last bits do?
      const moving = new Set(nudged.flatMap((n) => [...storesApart(x, n)]));
      const apart = [...storesApart(x, y)];
      if (apart.length === 0 || !apart.every((s) => moving.has(s))) return false;
      this.undefinedIn++;
      return true;
    }
    const near = (): boolean => differOnlyIn(x, y, nudged);
    // An optimizer that copies a loop body may fuse different products in the copies, so executions of one instruction may differ too.
    const apart = (): Run[] =>
      NUDGES.map((nudge) => this.run(this.judge.subject, first, { ...how, nudge, nudgeEach: true }));
    const only = near() || (nudged.push(...apart()) > 0 && near());
    this.approximate ||= only;
    return only;
  }

  private keep(found: readonly Difference[], where: string, first?: First, b?: Run): void {
    if (found.length > 0 && first !== undefined && b !== undefined && this.isUnpromised(first, b)) return;
    if (found.length > 0 && first !== undefined)
      this.witness ??= { first, address: found[0].address ?? null };
    for (const d of found) this.differences.push({ ...d, text: `${where}: ${d.text}` });
  }

  // ------------------------------------------------------------------ one thread

  private oneThread(world: World, first: First): void {
    const a = first.run;
    const b = this.run(this.after, first);
    let found = this.compareOne(first, b, world);
    if (found.length === 0) return;
    if (world.orders && found[0].kind !== 'does not end' && strongReads(b) < strongReads(a)) {
      // Other threads need not write all the time: two consecutive strong reads may be merged.
      const calm = this.judge.first(world, { changing: false });
      this.executed += calm.executed;
      if (calm.first !== null && calm.first.run.status === 'done') {
        const again = this.compareOne(
          calm.first,
          this.run(this.after, calm.first, { changing: false }),
          world,
          false,
        );
        if (again.length === 0) return;
        found = again;
      }
    }
    this.keep(found, world.name, first, b);
  }

  private compareOne(first: First, b: Run, world: World, changing = true): Difference[] {
    const a = first.run;
    let [x, y] = [a, b];
    let found = differencesOf(x, y, world.budget);
    const cut = a.status === 'budget' || b.status === 'budget';
    let budget = world.budget;
    if (found.length > 0 && cut && found[0].kind !== 'does not end' && found[0].certain !== true) {
      const longer = this.longer(world);
      if (longer === null) return found;
      if (longer.found !== null) {
        [x, y, found] = [longer.x, longer.y!, longer.found];
        budget *= FURTHER;
      } else if (a.status === 'budget' && storeLess(b.logs, longer.x.logs, this.fewerStores)) found = [];
    }
    found = this.defined(first, x, y, found, { changing, ...(budget === world.budget ? {} : { budget }) });
    if (found.length > 0 || this.after.machine) return found;
    const elsewhere = x.status === 'done' && x.ended.size === 0 ? readsElsewhere(x, y) : null;
    if (elsewhere !== null) return [{ kind: 'reads elsewhere', text: elsewhere }];
    if (x.watcher.order === null || y.watcher.order === null) return [];
    const ends = { before: x.status === 'done', after: y.status === 'done' };
    const wrong = disorder(x.watcher.order, y.watcher.order, ends, this.judge.isWide, (s) =>
      printInstr(s.ins),
    );
    return wrong === null ? [] : [{ kind: 'order differs', text: wrong.text, ins: wrong.ins }];
  }

  /** Repeats both runs with a larger budget; `found` is null if that is not enough either. */
  private longer(world: World): { x: Run; y: Run | null; found: Difference[] | null } | null {
    const { first } = this.judge.first(world);
    if (first === null) return null;
    const budget = world.budget * FURTHER;
    const x = this.run(this.judge.subject, first, { budget });
    if (x.status === 'budget') return { x, y: null, found: null };
    const y = this.run(this.after, first, { budget });
    return y.status === 'budget' ? { x, y, found: null } : { x, y, found: differencesOf(x, y, budget) };
  }

  // ------------------------------------------------------------------ several threads

  private threads(world: World, whole: First): void {
    const { shape } = world;
    // Lanes that start apart reach whole-warp barriers one by one, which then open too early.
    const inTurn: RunOptions[] =
      this.readsMask || (this.after.machine && this.meets)
        ? []
        : APART.map((turns) => ({ turns, budget: 32 * world.budget }));
    const fewer = (lanes: number): World => ({
      ...world,
      shape: {
        ...shape,
        cluster: shape.cluster,
        only: { blocks: [shape.only?.blocks?.[0] ?? 0], warps: [0], lanes },
      },
    });
    const smaller = shape.cluster === null ? [fewer(-1), fewer(1)] : [];
    for (let first = whole; ; ) {
      const a = first.run;
      const b = this.run(this.after, first);
      const budget = first.world.budget;
      let found = differencesOf(a, b, budget);
      let complete = a.status !== 'budget' && b.status !== 'budget';
      if (found.length > 0 && !complete && found[0].certain !== true) {
        // An overwritten store may have been removed: the final memory decides, if the end is near enough.
        const x = this.run(this.judge.subject, first, { budget: budget * FURTHER });
        const y = this.run(this.after, first, { budget: budget * FURTHER });
        complete = x.status !== 'budget' && y.status !== 'budget';
        if (complete) found = differencesOf(x, y, budget * FURTHER);
        else if (x.status === 'budget' && storeLess(b.logs, x.logs, this.fewerStores)) found = [];
      }
      this.partial ||= !complete && world.usual;
      const races = (how: RunOptions): boolean => {
        const other = this.run(this.judge.subject, first, how);
        // A thread that waits for one that never gets its turn does not race.
        if (other.status !== a.status && other.status === 'budget') return false;
        // If the runs do not end, the threads' stores decide: a program without races stores the same under every schedule.
        return (!complete && !storeAlike(a.logs, other.logs)) || differencesOf(a, other, budget).length > 0;
      };
      // Lanes of machine code cannot run one after the other: if the lanes of a warp race, fewer of them decide.
      const { machine } = this.after;
      if (
        found.length > 0 &&
        smaller.length > 0 &&
        (OTHER_TURNS.some((turns) => races({ turns })) ||
          (machine && (inTurn.some(races) || this.lanesRace(first))))
      ) {
        this.raced = true;
        const next = this.judge.first(smaller.shift()!);
        this.executed += next.executed;
        if (next.first === null) return;
        first = next.first;
        continue;
      }
      if (found.length > 0 && machine && inTurn.some(races)) {
        this.raced = true;
        this.undefinedIn++;
        return;
      }
      if (found.length > 0 && inTurn.some(races)) {
        // Lanes race in lockstep, so they are run one after the other, each as if alone.
        this.raced = true;
        const x = this.run(this.judge.subject, first, inTurn[0]);
        const y = this.run(this.after, first, inTurn[0]);
        found = differencesOf(x, y, inTurn[0].budget!);
        if (found.length === 0 && x.status === 'done') found = lastStores(x.logs, y.logs);
      }
      // Uninitialised shared memory differs in machine code, which uses other addresses.
      if (!this.raced || machine) found = this.defined(first, a, b, found);
      this.keep(found, world.name, first, b);
      if (found.length === 0) this.checkHidden(world, first, a, b, inTurn);
      return;
    }
  }

  /** True if lanes of one warp race. Where they meet at barriers they cannot run one after the other, which would show it. */
  private lanesRace(first: First): boolean {
    const { races } = this.run(this.judge.subject, first, { races: true }).watcher;
    return races !== null && races.ofLanes.size > 0;
  }

  /** Checks beyond equal memory: accesses that are no longer ordered, and differences under other schedules. */
  private checkHidden(world: World, first: First, a: Run, b: Run, inTurn: readonly RunOptions[]): void {
    if (a.status !== 'done' || this.raced) return;
    // Machine code adds floats in compare-and-swap loops, where lanes of a warp take turns in another order.
    if (this.after.machine && this.sumsFloats) return;
    // Machine code does not mark volatile accesses, which do not race.
    const race = this.after.machine && this.hasVolatile ? null : newRace(a, b);
    const said = race ?? (this.after.machine ? null : (newPromise(a, b) ?? falselyUniform(a, b)));
    if (said !== null) {
      this.keep([said], world.name);
      return;
    }
    // Which lanes are active together depends on the schedule, so kernels that read the active mask are excluded. ptxas holds the mask of a
    // BRA.DIV in a uniform register even in a diverged warp, whose paths must not be interleaved there.
    const { machine } = this.after;
    const schedules =
      this.uniform && !machine
        ? [world.seed]
        : world.shuffled && this.judge.communicates && !this.readsMask && !this.uniform
          ? [world.seed, 77]
          : [];
    for (const schedule of schedules) {
      const b = this.run(this.after, first, { turns: { schedule } });
      let found = differencesOf(a, b, first.world.budget);
      if (machine) found = this.defined(first, a, b, found);
      if (found.length === 0 || this.isUnpromised(first, b)) continue;
      const others = [...[schedule, ...SCHEDULES].map((schedule) => ({ turns: { schedule } })), ...inTurn];
      // Racing threads need not differ under the few schedules tried here, so races are detected explicitly.
      const watched = this.run(this.judge.subject, first, { races: true }).watcher.races!;
      if (watched.words.size > 0 || watched.isPartial) return;
      if (
        others.some(
          (how) => differencesOf(a, this.run(this.judge.subject, first, how), first.world.budget).length > 0,
        )
      )
        return;
      this.keep(found, `${world.name}, turns at random`);
      return;
    }
  }
}

const strongReads = (r: Run): number =>
  r.watcher.order?.items.filter((x) => x.strong && (x.what === 'load' || x.what === 'atomic')).length ?? 0;

/**
 * Schedules that give other orders of the warps and of diverged lanes. An optimizer may shorten a warp so much that it ends in its first
 * turn; the next warp then sees everything that it wrote, hence the unlimited slice.
 */
const OTHER_TURNS: readonly Turns[] = [
  { slice: 250 },
  { slice: Number.POSITIVE_INFINITY },
  { pathSlice: 250 },
  { slice: 250, pathSlice: 17 },
];
/** Schedules in which lanes run one after the other: of two racing lanes, each comes first in one of them. */
const APART: readonly Turns[] = [{ apart: 'first' }, { apart: 'last' }];
/** Seeds of the schedules under which an original without races among its lanes gives equal results. */
const SCHEDULES: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8];
/** Factor by which the budget grows when runs that were cut off seem to differ. */
const FURTHER = 16;

const some = (p: Program, test: (x: Instr) => boolean): boolean =>
  p.functions.some((f) => f.blocks.some((b) => b.ins.some(test)));

/** Number of store instructions. */
const storesIn = (p: Program): number =>
  p.functions.reduce(
    (n, f) => n + f.blocks.reduce((k, b) => k + b.ins.filter((x) => x.op.primitive === 'store').length, 0),
    0,
  );

/** True if the program reads the active mask, whose value depends on the schedule without being a race. */
const readsActiveMask = (p: Program): boolean => some(p, (x) => x.op.primitive === 'activemask');

/** True if the program uses uniform registers. */
const hasUniformRegisters = (p: Program): boolean => some(p, (x) => x.dst.some(isUniformFile));

/** True for an atomic addition of floats, whose sum depends on the order. */
const sumsFloats = (x: Instr): boolean =>
  x.op.primitive === 'atomic' && /F/.test(modOf(x.op, x.mods, 'type')) && hasMod(x.op, x.mods, 'ADD');

const readsClock = (x: Instr): boolean =>
  x.op.primitive === 'special' && /CLOCK|GLOBALTIMER/.test(modOf(x.op, x.mods, 'sr'));

/** Seeds of the perturbations that show which results depend on the last bits of approximations. */
const NUDGES: readonly number[] = [1, 2, 3, 4];

const isUniformFile = (r: Reg): boolean =>
  r !== NO_REG && (regFile(r) === RegFile.UR || regFile(r) === RegFile.URD || regFile(r) === RegFile.UP);

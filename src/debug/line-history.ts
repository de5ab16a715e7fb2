import type { PhaseRecord } from '../engine/journal.ts';
import type { Rewrite } from '../engine/rewrites.ts';
import { NO_REG, type Reg } from '../ir/operand.ts';
import type { Fn, Instr, Program } from '../ir/program.ts';
import { printGuarded } from '../ir/text.ts';

/** The text of an instruction, and its block. */
export interface PlacedInstr {
  readonly block: string;
  readonly text: string;
}

/** What one phase did to the instructions of a line in one function. */
export interface LineStep {
  /** Position and id of the phase. */
  readonly position: number;
  readonly phase: string;
  readonly removed: readonly PlacedInstr[];
  readonly added: readonly PlacedInstr[];
  /**
   * Rewrites that started at an instruction of the line, or (`atReader`) at an instruction of another line that used a removed result.
   * Changes that passes do not announce as rewrites are taken from their remarks at the line.
   */
  readonly rewrites: readonly { readonly name: string; readonly count: number; readonly atReader: boolean }[];
  readonly remarks: PhaseRecord['remarks'];
}

/** The history of the instructions of a line in one function. */
export interface FnHistory {
  readonly fn: string;
  /** The instructions before the run. */
  readonly first: readonly PlacedInstr[];
  readonly steps: readonly LineStep[];
  /** The instructions at the end of the run. */
  readonly last: readonly PlacedInstr[];
}

/** Follows the instructions of one source line through a run. Pass `rewrite` and `phase` to the run as `onRewrite` and `onPhase`. */
export class LineHistory {
  private readonly locs: ReadonlySet<number>;
  private readonly histories = new Map<string, { first: PlacedInstr[]; steps: LineStep[] }>();
  private rewrites: Rewrite[] = [];
  private program: Program;

  /**
   * @param program the program before the run
   * @param locs indices in `Program.locs` that belong to the line
   */
  constructor(program: Program, locs: ReadonlySet<number>) {
    this.locs = locs;
    this.program = program;
    for (const fn of program.functions) {
      const first = this.instructionsOf(fn).map(placed);
      if (first.length > 0) this.histories.set(fn.name, { first, steps: [] });
    }
  }

  readonly rewrite = (r: Rewrite): void => {
    this.rewrites.push(r);
  };

  readonly phase = (record: PhaseRecord, before: Program): void => {
    const { rewrites } = this;
    this.rewrites = [];
    this.program = record.program;
    const old = new Map(before.functions.map((f) => [f.name, f]));
    for (const fn of record.program.functions) {
      const was = old.get(fn.name);
      const remarks = record.remarks.filter((m) => m.fn === fn.name && this.locs.has(m.loc));
      if ((was === undefined || was === fn) && remarks.length === 0) continue;
      const [a, b] = was === fn ? [[], []] : [was ? this.instructionsOf(was) : [], this.instructionsOf(fn)];
      const [removed, added] = difference(a, b);
      if (removed.length + added.length + remarks.length === 0) continue;
      const step: LineStep = {
        position: record.phase.position,
        phase: record.phase.id,
        removed: removed.map(placed),
        added: added.map(placed),
        rewrites: [
          ...this.causes(
            rewrites.filter((r) => r.fn === fn.name),
            removed.length > added.length ? removed : [],
          ),
          ...unannounced(remarks, rewrites),
        ],
        remarks,
      };
      const history = this.histories.get(fn.name);
      if (history !== undefined) history.steps.push(step);
      else this.histories.set(fn.name, { first: [], steps: [step] });
    }
  };

  /** A history for each function that has, or had, instructions of the line, up to the last recorded phase. */
  get functions(): readonly FnHistory[] {
    const now = new Map(this.program.functions.map((f) => [f.name, f]));
    return [...this.histories].map(([fn, h]) => ({
      fn,
      ...h,
      last: now.has(fn) ? this.instructionsOf(now.get(fn)!).map(placed) : [],
    }));
  }

  private instructionsOf(fn: Fn): Placed[] {
    return fn.blocks.flatMap((b) =>
      b.ins.filter((i) => this.locs.has(i.loc)).map((ins) => ({ block: `BB${b.id}`, ins })),
    );
  }

  private causes(rewrites: readonly Rewrite[], removed: readonly Placed[]): LineStep['rewrites'] {
    const atLine = rewrites.filter((r) => r.ins !== null && this.locs.has(r.ins.loc));
    const gone = new Set<Reg>(removed.flatMap((x) => x.ins.dst.filter((r) => r !== NO_REG)));
    const atReaders = rewrites.filter(
      (r) => r.ins !== null && !this.locs.has(r.ins.loc) && r.ins.src.some((o) => gone.has(o.reg)),
    );
    return [...counted(atLine, false), ...counted(atReaders, true)];
  }
}

interface Placed {
  readonly block: string;
  readonly ins: Instr;
}

const placed = ({ block, ins }: Placed): PlacedInstr => ({
  block,
  text: printGuarded(ins).trim().replaceAll(/ +/g, ' '),
});

const textOf = (x: Placed): string => `${x.block} ${placed(x).text}`;

/** The elements of each list that the other lacks. Instructions with equal texts in the same block are equal. */
function difference(a: readonly Placed[], b: readonly Placed[]): [Placed[], Placed[]] {
  const left = new Map<string, Placed[]>();
  for (const x of a) left.set(textOf(x), [...(left.get(textOf(x)) ?? []), x]);
  const added = b.filter((x) => left.get(textOf(x))?.pop() === undefined);
  const kept = new Set([...left.values()].flat());
  return [a.filter((x) => kept.has(x)), added];
}

/** Changes that only remarks report: those with a name that no rewrite has. */
function unannounced(remarks: PhaseRecord['remarks'], rewrites: readonly Rewrite[]): LineStep['rewrites'] {
  const own = new Set(rewrites.map((r) => r.name));
  return counted(
    remarks.filter((m) => m.kind === 'passed' && !own.has(m.name)),
    false,
  );
}

function counted(rewrites: readonly { readonly name: string }[], atReader: boolean): LineStep['rewrites'] {
  const counts = new Map<string, number>();
  for (const r of rewrites) counts.set(r.name, (counts.get(r.name) ?? 0) + 1);
  return [...counts].map(([name, count]) => ({ name, count, atReader }));
}

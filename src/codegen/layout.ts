import type { Machine } from '../machine/forms.ts';
import { assemble } from './assemble.ts';
import type { MachineBlock, MachineFunction, MachineOp } from './machine-op.ts';

/*
 * Order of blocks. Phases place the blocks of Ori after instructions are selected; machine code takes their order over here, and its
 * branches are made to fit: one to the next block goes, and where the next block was another, the condition is inverted or a branch added.
 */

/** Blocks that end with these do not continue with the next one. */
const ENDS = /^(?:BRA|EXIT|BRX|RET|JMP)/;

const endsPath = (x: MachineOp | undefined): boolean =>
  x !== undefined && x.guard < 0 && ENDS.test(x.form.row) && !isConditional(x);

/** True for a branch whose own predicate decides, as the forms have it besides the guard. */
const isConditional = (x: MachineOp): boolean =>
  x.occurrences.some((o) => !o.isResult) && x.form.row === 'BRA';

/**
 * Places blocks in the order of those of Ori.
 * @param order ids of Ori's blocks; a block that Ori does not have follows the one that it was made from
 */
export function laidOut(fn: MachineFunction, order: readonly number[], machine: Machine): MachineFunction {
  const { blocks } = fn;
  /** The block that follows where no branch is taken. */
  const falls = new Map<number, number>();
  blocks.forEach((b, k) => {
    if (!endsPath(b.ops.at(-1)) && k + 1 < blocks.length) falls.set(b.id, blocks[k + 1].id);
  });
  const placed = inOrder(blocks, order);
  const out = placed.map((b, k) => withBranches(b, falls.get(b.id), placed[k + 1]?.id, machine));
  return out.every((b, k) => b === blocks[k]) ? fn : { ...fn, blocks: out };
}

function inOrder(blocks: readonly MachineBlock[], order: readonly number[]): MachineBlock[] {
  const groups = new Map<number, MachineBlock[]>();
  const first: MachineBlock[] = [];
  let group = first;
  for (const b of blocks) {
    if (b.id >= 0) groups.set(b.id, (group = []));
    group.push(b);
  }
  const named = order.flatMap((id) => groups.get(id) ?? []);
  const known = new Set(order);
  // Blocks that Ori no longer has may still be branched to.
  const rest = [...groups].flatMap(([id, list]) => (known.has(id) ? [] : list));
  return [...first, ...named, ...rest];
}

/** A block whose branches lead to where they led, given the block that follows now. */
function withBranches(
  b: MachineBlock,
  falls: number | undefined,
  next: number | undefined,
  machine: Machine,
): MachineBlock {
  const last = b.ops.at(-1);
  const to = last?.form.row === 'BRA' && endsPath(last) ? last.target!.block : falls;
  const ops = to === falls ? b.ops : b.ops.slice(0, -1);
  if (to === undefined) return b;
  if (to === next) return to === falls ? b : { ...b, ops };
  const branch = ops.at(-1);
  const isInvertible =
    branch?.form.row === 'BRA' &&
    branch.guard >= 0 &&
    branch.target?.block === next &&
    !isConditional(branch);
  if (isInvertible) {
    const other = { ...branch, guardNot: !branch.guardNot, target: { ...branch.target!, block: to } };
    return { ...b, ops: [...ops.slice(0, -1), other] };
  }
  return to === falls ? { ...b, ops: [...ops, branchTo(to, b, machine)] } : b;
}

function branchTo(block: number, { ops }: MachineBlock, machine: Machine): MachineOp {
  const built = assemble(machine, ['BRA'], new Map([['t', { kind: 'block', block, mods: 0 }]]));
  if (built === null) throw new Error('the target has no branch');
  return { ...built, guard: -1, guardNot: false, loc: ops.at(-1)?.loc ?? 0 };
}

import { type BlockNo, cloneBlocks, type Draft } from '../../ir/draft/index.ts';
import type { BottomTested } from './unroll-shape.ts';

/**
 * Replaces a loop by its iterations in sequence, without their tests.
 *
 * Which lanes meet does not change: the test, which has the same outcome for all lanes each time, is gone, and
 * everything else is copied whole.
 *
 * @param again how often the back edge is taken: one copy for each time
 */
export function unrollFully(d: Draft, loop: BottomTested, again: number): void {
  let last: BlockNo = loop.latch;
  let place = loop.blocks[loop.blocks.length - 1];
  const copies: { header: BlockNo; latch: BlockNo }[] = [];
  for (let k = 0; k < again; k++) {
    const { blocks } = cloneBlocks(d, loop.blocks, place, false);
    copies.push({ header: blocks.get(loop.header)!, latch: blocks.get(loop.latch)! });
    place = blocks.get(loop.blocks[loop.blocks.length - 1])!;
  }
  for (const c of copies) {
    d.setTerminator(last, null, c.header);
    last = c.latch;
  }
  d.setTerminator(last, null, loop.exit);
}

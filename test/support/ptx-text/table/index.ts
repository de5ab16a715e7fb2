import { carry } from './carry.ts';
import type { Table } from './case.ts';
import { comparisons } from './compare.ts';
import { conversions } from './convert.ts';
import { float } from './float.ts';
import { integer } from './integer.ts';
import { logic } from './logic.ts';
import { video } from './video.ts';

/** All instructions that only compute a result from their operands. */
export const TABLE: Table = {
  ...integer,
  ...carry,
  ...logic,
  ...comparisons,
  ...float,
  ...conversions,
  ...video,
};

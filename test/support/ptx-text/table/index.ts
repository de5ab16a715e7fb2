import { carry } from './carry.ts';
import type { Table } from './case.ts';
import { comparisons } from './compare.ts';
import { conversions } from './convert.ts';
import { float } from './float.ts';
import { integer } from './integer.ts';
import { logic } from './logic.ts';
import { video } from './video.ts';

/** Every instruction that computes something from its operands alone. */
export const TABLE: Table = {
  ...integer,
  ...carry,
  ...logic,
  ...comparisons,
  ...float,
  ...conversions,
  ...video,
};

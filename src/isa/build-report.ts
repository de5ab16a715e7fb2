import { nearest } from '../ir/diagnostic.ts';

/** Reports one fault of an opcode. */
export type Report = (message: string, notes?: readonly string[]) => void;

/** A note that suggests the names closest to `word`; none if no name is close. */

export const didYouMean = (word: string, all: Iterable<string>): string[] => {
  const near = nearest(word, all);
  return near.length > 0 ? [`did you mean ${near.join(' or ')}?`] : [];
};

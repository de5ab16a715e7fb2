import { shellWord } from '../ir/quote.ts';
import type { PlanOptions } from './input/options.ts';

const one = (name: string, v: string | undefined): string[] => (v === undefined ? [] : [name, shellWord(v)]);
const each = (name: string, v: readonly string[] | undefined): string[] =>
  (v ?? []).flatMap((x) => [name, shellWord(x)]);

/**
 * Plan options as words of a command line.
 *
 * @param foreign whether rules run that do not ship: those of `--rules`, or of the files of an order or a recipe
 */
export const planWords = (o: PlanOptions, foreign = (o.rules ?? []).length > 0): string[] => [
  ...one('-O', o.level),
  ...one('--sm', o.sm),
  ...one('--order', o.order),
  ...each('--recipe', o.recipe),
  ...one('--nvopt', o.nvopt),
  ...each('--knobs', o.knobs),
  ...each('--set', o.set),
  ...each('--disable', o.disable),
  ...each('--rules', o.rules),
  ...each('--isa', o.isa),
  ...(foreign && (o.forceRules ?? false) !== false ? ['--force-rules'] : []),
  ...one('--profile', o.profile),
  ...each('--allow-path', o.allowPath),
];

import { didYouMean } from '../ir/diagnostic.ts';
import {
  type LaneRule,
  Lanes,
  type ModGroup,
  type Opcode,
  type Slot,
  type SpecialRegister,
} from '../ir/opcode.ts';
import type { Report } from './build-report.ts';

/** One row of `special`, validated against the schema. */
export interface SpecialSpec {
  readonly lanes: 'block' | 'warp' | 'varying';
  readonly least?: number;
  readonly most?: number;
  readonly thread?: number;
  readonly extent?: number;
  readonly changes?: boolean;
}

const LEVEL: Readonly<Record<string, number>> = {
  block: Lanes.Block,
  warp: Lanes.Warp,
  varying: Lanes.Varying,
};

/**
 * Builds the rules for the uniformity of an opcode's results from its `lanes`.
 * @param report receives a fault for each name that is neither a result nor a modifier, and for each unknown source
 */
export function buildLanes(
  spec: string | Readonly<Record<string, string>>,
  dsts: readonly Slot[],
  srcs: readonly Slot[],
  mods: Opcode['modByName'],
  report: Report,
): LaneRule[] {
  const rows = typeof spec === 'string' ? [['*', spec] as const] : Object.entries(spec);
  return rows.flatMap(([key, text]) => {
    const m = /^(\w+)(?:\((.*)\))?$/.exec(text)!;
    const level = LEVEL[m[1]] ?? Lanes.Block;
    const from: LaneRule['from'] =
      m[1] === 'operands' || m[1] === 'memory'
        ? m[1]
        : (m[2] ?? '')
            .split(', ')
            .filter((n) => n !== '')
            .map((n) => {
              const k = srcs.findIndex((s) => s.name === n);
              if (k < 0)
                report(
                  `lanes: there is no source '${n}'`,
                  didYouMean(
                    n,
                    srcs.map((s) => s.name),
                  ),
                );
              return k;
            });
    return key.split(' ').map((word): LaneRule => {
      const dst = dsts.findIndex((d) => d.name === word);
      const mod = mods.get(word);
      if (word !== '*' && dst < 0 && mod === undefined)
        report(
          `lanes: '${word}' is neither a result nor a modifier`,
          didYouMean(word, [...dsts.map((d) => d.name), ...mods.keys()]),
        );
      return {
        dst,
        group: dst < 0 && mod !== undefined ? mod.group : null,
        index: mod?.index ?? 0,
        level,
        from,
      };
    });
  });
}

/** The special registers that an opcode reads, by value of its first modifier group. */
export function buildSpecial(
  spec: Readonly<Record<string, SpecialSpec>> | undefined,
  groups: readonly ModGroup[],
  report: Report,
): (SpecialRegister | null)[] {
  if (spec === undefined) return [];
  const names = groups[0]?.values.map((v) => v.name) ?? [];
  for (const n of Object.keys(spec))
    if (!names.includes(n)) report(`special: there is no register '${n}'`, didYouMean(n, names));
  return names.map((n) => {
    const s = spec[n];
    if (s === undefined) return null;
    return {
      level: LEVEL[s.lanes],
      least: s.least ?? 0,
      most: s.most ?? 0xffffffff,
      thread: s.thread ?? -1,
      extent: s.extent ?? -1,
      changes: s.changes ?? false,
    };
  });
}

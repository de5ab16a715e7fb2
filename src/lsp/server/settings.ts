import { isMap } from '../../ir/data.ts';
import { HINT_KINDS, type HintKind } from '../work/hints.ts';

/** What a client can set under `orrery`. */
export interface Settings {
  /** Kernels over which lenses measure edits: PTX files, folders or patterns, relative to the workspace. */
  readonly kernels: readonly string[];
  /** Whether kernels and specs get lenses. */
  readonly lenses: boolean;
  /** What inlay hints show; empty: nothing. */
  readonly hints: readonly HintKind[];
}

export const DEFAULTS: Settings = { kernels: [], lenses: true, hints: [] };

const texts = (v: unknown): readonly string[] | undefined => {
  if (typeof v === 'string') return [v];
  return Array.isArray(v) ? v.filter((x): x is string => typeof x === 'string') : undefined;
};

/** The settings in what a client sent: under `orrery`, or bare. What is malformed keeps its default. Null if none is there. */
export function settingsOf(sent: unknown): Settings | null {
  const map = isMap(sent) ? (isMap(sent.orrery) ? sent.orrery : sent) : {};
  if (Object.keys(DEFAULTS).every((k) => map[k] === undefined || map[k] === null)) return null;
  const hints = texts(map.hints) ?? (map.hints === true ? HINT_KINDS : []);
  return {
    kernels: texts(map.kernels) ?? DEFAULTS.kernels,
    lenses: typeof map.lenses === 'boolean' ? map.lenses : DEFAULTS.lenses,
    hints: HINT_KINDS.filter((k) => hints.includes(k)),
  };
}

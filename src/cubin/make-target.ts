/* What depends on the target of a cubin (seen in cubins of ptxas 13.0.88). */

/** A target as the writer sees it. */
export interface Target {
  readonly name: string;
  /** 80 for sm_80. */
  readonly sm: number;
  /** True if code runs on exactly this chip (`sm_90a`). */
  readonly exact: boolean;
  /** Offset of the parameters in constant bank 0. */
  readonly parameterBase: number;
  /** True from sm_90 on: separate segments, relocations with addends, reserved shared memory. */
  readonly later: boolean;
  /** True from sm_100 on, where ptxas' files hold the code as Mercury too, which the files that are made here lack. */
  readonly mercury: boolean;
  /** True if attribute 0x35 is stated. */
  readonly marked: boolean;
  /** Bits of the attribute SW_WAR, or null if it is not stated. */
  readonly workarounds: number | null;
  /** Bytes at the beginning of shared memory that are the driver's. */
  readonly reservedShared: number;
  /** Where in them the driver's own variable is, and the size of its section. */
  readonly reservedAt: number;
  /** What attribute 0x0b of `.nv.compat` states as a rule. */
  readonly features: number;
}

/** Targets with attribute 0x35, and the bits of SW_WAR and of attribute 0x0b for those that state some. */
const MARKED = [80, 86, 87, 88];
const WORKAROUNDS: ReadonlyMap<number, number> = new Map([
  [75, 1],
  [87, 2],
  [90, 8],
  [100, 8],
  [120, 0],
]);
const FEATURES: ReadonlyMap<number, number> = new Map([
  [100, 9],
  [120, 0x50],
]);
const KNOWN = [75, 80, 86, 87, 88, 89, 90, 100, 120];

/** The target of a name. @throws RangeError if cubins for it are not made */
export function targetOf(name: string): Target {
  const m = /^sm_(\d+)(a?)$/.exec(name);
  const sm = Number(m?.[1]);
  if (m === null || !KNOWN.includes(sm) || (m[2] === 'a' && sm !== 90))
    throw new RangeError(
      `a cubin for ${name} is asked for; they are made for ${KNOWN.map((k) => `sm_${k}`).join(', ')} and sm_90a`,
    );
  const [later, mercury] = [sm >= 90, sm >= 100];
  return {
    name,
    sm,
    exact: m[2] === 'a',
    parameterBase: mercury ? 0x380 : later ? 0x210 : 0x160,
    later,
    mercury,
    marked: MARKED.includes(sm),
    workarounds: WORKAROUNDS.get(sm) ?? null,
    reservedShared: later ? 1024 : 0,
    reservedAt: mercury ? 64 : 0,
    features: FEATURES.get(sm) ?? 0,
  };
}

/** The number of any target's name: 80 for `sm_80`. @throws RangeError */
export function targetNumber(name: string): number {
  const m = /^sm_(\d+)[af]?$/.exec(name);
  if (m === null) throw new RangeError(`the PTX is for ${name}, which is no target of CUDA such as sm_80`);
  return Number(m[1]);
}

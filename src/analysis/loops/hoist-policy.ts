/** Values of knob 381, in which loops values may move; others forbid it (reference passes-c, passes-e). */
export const HoistPolicy = { Always: 0, Inner: 1 } as const;

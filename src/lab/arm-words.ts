/** The parts of an arm as written on the command line, and what each does; for messages and help. */
export const ARM_PARTS = {
  set: ['NAME=VALUE', 'sets one knob; set:NAME=VALUE is the same'],
  knobs: ['knobs:SET', 'a knob set, by name or file'],
  recipe: ['recipe:FILE', 'a recipe, by name or file, instead of --recipe'],
  order: ['order:NAME', 'an order, by name or file'],
  level: ['level:3', 'the optimization level; also O3'],
  sm: ['sm:sm_90', 'the target'],
  rules: ['rules:GROUP', 'runs these rules too, by group or file'],
  disable: ['disable:PHASE', 'switches a phase off'],
  move: ['move:PHASE@after:PHASE', 'puts a phase elsewhere; or @before:'],
  profile: ['profile:FILE', 'optimizes by this profile'],
  ref: ['ref:COMMIT', 'the specs of a commit, or of a folder'],
  base: ['base', 'no change'],
} as const satisfies Readonly<Record<string, readonly [form: string, does: string]>>;

/** Keywords of arms. */
export const ARM_WORDS = Object.keys(ARM_PARTS);

/** Help lines: the form of each part and what it does. */
export const armLines = (): readonly string[] =>
  Object.values(ARM_PARTS).map(([form, does]) => `  ${form.padEnd(24)}${does}`);

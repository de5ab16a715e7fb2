/** The target without its feature suffix: `sm_90` for `sm_90a`. Back ends have these names, and both targets share the encodings. */
export const baseTarget = (target: string): string => target.replace(/[af]$/, '');

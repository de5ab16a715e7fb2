/** The target without the letter of its features, `sm_90` for `sm_90a`: its back end has this name, and its machine code the same forms. */
export const baseTarget = (target: string): string => target.replace(/[af]$/, '');

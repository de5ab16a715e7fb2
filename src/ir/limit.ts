/** Thrown if work reaches its bound: on instructions run, nodes built, effects followed. Who set the bound catches it, and does without. */
export class LimitReached extends Error {}

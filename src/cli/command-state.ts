/*
 * What belongs to one command and not to the process that runs it: a server (`orrery server`) runs many, one after the other.
 */

const beginnings: (() => void)[] = [];
let endings: (() => void)[] = [];

/** Thrown where a command of a server ends the process that runs it: only the command ends. */
export class Exit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** Has `reset` called before each command: it forgets what an earlier one left in the variables of a module. */
export const beforeEachCommand = (reset: () => void): void => void beginnings.push(reset);

/** Has `task` called once when the command that runs now ends, however it ends, unless it is killed. */
export const atEnd = (task: () => void): void => void endings.push(task);

/** Forgets what earlier commands of this process left. */
export function beginCommand(): void {
  endings = [];
  for (const reset of beginnings) reset();
}

/** Calls what is due at the end of a command, once. */
export function endCommand(): void {
  const due = endings;
  endings = [];
  for (const task of due) task();
}

/*
 * State that belongs to one command and not to the process that runs it: a server (`orrery server`) runs many commands in sequence.
 */

const beginnings: (() => void)[] = [];
let endings: (() => void)[] = [];

/** Thrown if a command that a server runs exits: only the command ends, not the process. */
export class Exit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** Registers `reset` to be called before each command, to clear module state that an earlier command left. */
export const beforeEachCommand = (reset: () => void): void => void beginnings.push(reset);

/** Registers `task` to be called once when the current command ends, however it ends, unless it is killed. */
export const atEnd = (task: () => void): void => void endings.push(task);

/** Clears the state that earlier commands of this process left. */
export function beginCommand(): void {
  endings = [];
  for (const reset of beginnings) reset();
}

/** Runs the tasks that are due at the end of a command, once. */
export function endCommand(): void {
  const due = endings;
  endings = [];
  for (const task of due) task();
}

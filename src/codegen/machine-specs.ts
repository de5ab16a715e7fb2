import { buildMachine } from '../machine/build.ts';
import type { Machine } from '../machine/forms.ts';
import type { FamilyRow } from '../machine/rows.ts';
import type { SelectionFile } from './rows.ts';
import { parseSelection, type Selection } from './selection.ts';

/** What machine code is made with, as data: the files of `pipelines/machine` and `pipelines/selection`. */
export interface MachineData {
  readonly families: readonly FamilyRow[];
  readonly selection: readonly SelectionFile[];
}

/** What machine code is made with. */
export interface CodeForms {
  readonly selection: Selection;
  /** The forms of a target, such as `sm_80`. */
  machine(sm: string): Machine;
}

/** Forms and selection rows, built from their data once. */
export class MachineSpecs implements CodeForms {
  private readonly data: MachineData;
  private readonly machines = new Map<string, Machine>();
  private selected: Selection | null = null;

  constructor(data: MachineData) {
    this.data = data;
  }

  get selection(): Selection {
    this.selected ??= parseSelection(this.data.selection);
    return this.selected;
  }

  /** The forms of a target. @throws TextError if no family has it */
  machine(sm: string): Machine {
    let found = this.machines.get(sm);
    if (found === undefined) {
      found = buildMachine(new Map(this.data.families.map((f) => [f.name, f])), sm).machine;
      this.machines.set(sm, found);
    }
    return found;
  }
}

import { parseSelection, type Selection } from '../../codegen/selection.ts';
import { buildMachine } from '../../machine/build.ts';
import type { Machine } from '../../machine/forms.ts';
import type { MachineData } from '../protocol.ts';

/** Forms and selection rows, built from their data once. */
export class MachineSpecs {
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

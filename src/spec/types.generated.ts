// Generated from schemas/*.schema.json by `npm run generate`. Do not edit.

export namespace BackendSpec {
/**
 * Names this schema.
 */
export type Kind = "backend"
/**
 * The file's name without its ending: sm_90, or a family.
 */
export type Name = string
/**
 * Back end whose values hold where this file says nothing. Maps merge key by key, everything else is replaced.
 */
export type Extends = string
/**
 * Target name; only an SM file has it.
 */
export type SM = string
/**
 * generation << 12 | ordinal.
 */
export type EncodedSM = number
/**
 * Back-end class by SM name (labels of seed 003).
 */
export type BackEndClass = ("SM30" | "SM50" | "SM60" | "SM70" | "SM80" | "SM89" | "SM90")
/**
 * Marketing family.
 */
export type GPUFamily = string
/**
 * The SM is described, but no PTX 9.0 tool targets it.
 */
export type Legacy = boolean
/**
 * A number, or a rising list of configurations.
 */
export type Limit = (number | number[])
/**
 * Bytes of one instruction.
 */
export type InstructionSize = (8 | 16)
/**
 * Scheduler dispatch slots.
 */
export type DispatchSlots = number
/**
 * Words of a scheduler partition.
 */
export type PartitionWords = number
/**
 * Where stall, yield and barrier fields are.
 */
export type ControlBits = ("control-word" | "in-instruction")
/**
 * Byte offset of the first kernel parameter in constant bank 0.
 */
export type ParameterBase = number
/**
 * As in a knob set.
 */
export type Value = (boolean | number | string | number[])

/**
 * What differs by SM. A family file holds what its SMs share; an SM file extends it key by key. Phases read these values as facts, by path.
 */
export interface Backend {
kind: Kind
name: Name
extends?: Extends
sm?: SM
code?: EncodedSM
class?: BackEndClass
gpu?: GPUFamily
legacy?: Legacy
slots?: Slots
capabilities?: Capabilities
limits?: Limits
encoding?: Encoding
"param-base"?: ParameterBase
knobs?: Knobs
sources?: Sources
doubts?: Doubts
}
/**
 * Back-end method slots, by byte offset (outer-N, subtarget-N for the other two objects) -> handler. 'none' is the no-op.
 */
export interface Slots {
[k: string]: string
}
/**
 * What the hardware has.
 */
export interface Capabilities {
[k: string]: boolean
}
/**
 * Sizes and counts.
 */
export interface Limits {
[k: string]: Limit
}
/**
 * Facts about machine code.
 */
export interface Encoding {
"instruction-bytes"?: InstructionSize
"dispatch-slots"?: DispatchSlots
"partition-words"?: PartitionWords
"control-bits"?: ControlBits
}
/**
 * Knob values of this target; weaker than a recipe, a knob set or the command line.
 */
export interface Knobs {
[k: string]: Value
}
/**
 * Path, or the start of one -> where the value is from. Every number has one.
 */
export interface Sources {
[k: string]: string
}
/**
 * Path -> what other sources say, and why this value was taken.
 */
export interface Doubts {
[k: string]: string
}
}

export namespace ConstraintsSpec {
/**
 * Names this schema.
 */
export type Kind = "constraints"
/**
 * Phase that must come first.
 */
export type Before = string
/**
 * Phase that must come later.
 */
export type After = string
/**
 * What breaks otherwise; printed with the error.
 */
export type Why = string
/**
 * Where the reason is from.
 */
export type Source = string
/**
 * Full orders (and what extends them) for which it holds, where they differ. Missing: all.
 * 
 * @minItems 1
 */
export type Orders = [string, ...(string)[]]
/**
 * error: an order that breaks it is refused. warning: the result stays right, but the later phase has less to work on; the order is taken with a warning. Default: error.
 */
export type Severity = ("error" | "warning")
/**
 * Pairs of phases with the reason for their order.
 */
export type Constraints1 = Constraint[]

/**
 * Which phase must stand before which, and why. Every resolved order is checked against them.
 */
export interface Constraints {
kind: Kind
constraints: Constraints1
}
/**
 * The first occurrence of 'before' must stand before the first occurrence of 'after'. It says nothing where one of the two is missing.
 */
export interface Constraint {
before: Before
after: After
why: Why
source: Source
orders?: Orders
severity?: Severity
}
}

export namespace IsaSpec {
export type OpcodeRow = (Opcode & Opcode1)
export type Opcode = {
[k: string]: unknown
}

/**
 * Opcodes of Ori: operands, modifiers, properties and meaning.
 */
export interface Isa {
kind: "isa"
/**
 * Opcode name -> what it is.
 */
opcodes: {
[k: string]: OpcodeRow
}
}
export interface Opcode1 {
/**
 * What it does, in one line.
 */
title: string
/**
 * Operands: destinations, then = and sources; each name:type[?][*][/modifiers].
 */
form: string
/**
 * Values of optional sources that are left out.
 */
default?: {
[k: string]: number | boolean
}
/**
 * Modifier groups: a list of values, a map of values to scalar types, or NAME? for an optional flag. A key ending in ! is always printed.
 */
modifiers?: {
[k: string]: string | string[] | {
[k: string]: string
}
}
props: ("side-effect" | "control" | "no-fall-through" | "commutative" | "predicable" | "pseudo" | "reads-memory" | "writes-memory" | "convergent" | "barrier" | "volatile" | "approximate" | "pure")[]
unit: ("alu" | "fma" | "fp64" | "fp16" | "xu" | "lsu" | "control" | "special")
space?: ("generic" | "shared" | "local" | "const" | "param" | "global" | "cluster")
/**
 * Number seen in traces of the original; never dispatched on.
 */
observed?: number
/**
 * Named primitive that carries it out.
 */
primitive?: string
/**
 * Meaning in the expression language.
 */
means?: string
}
}

export namespace KnobSetSpec {
/**
 * A named set of knob values, to compare against others.
 */
export interface KnobSet {
kind: "knob-set"
/**
 * One line for readers.
 */
title?: string
/**
 * Knob name or alias -> value.
 */
knobs: {
/**
 * Value of the knob, of its type.
 */
[k: string]: null | boolean | number | string | number[]
}
when?: {
/**
 * Glob on the kernel name.
 */
kernel?: string
}
}
}

export namespace KnobsSpec {
/**
 * Names this schema.
 */
export type Kind = "knobs"
/**
 * Number in the knob table; null where none is known or the knob is our own.
 */
export type Index = (number | null)
/**
 * OCG: the optimizer's table. DAG: the encoder's table. Indices are unique within a table. Default: OCG.
 */
export type Table = ("OCG" | "DAG")
/**
 * NONE: presence is true. INT: integer. BDGT: budget, each query takes one unit, unset is unlimited. IRNG: lo..hi. ILIST: integers. FLOAT, DBL: numbers. STR: text. WHEN: conditional. OPLIST: opcode,number pairs.
 */
export type Type = ("NONE" | "INT" | "BDGT" | "IRNG" | "ILIST" | "FLOAT" | "DBL" | "STR" | "WHEN" | "OPLIST")
/**
 * No source states the type; the most likely one is given. Default: false.
 */
export type TypeIsAssumed = boolean
/**
 * Value where nothing sets it; null: unset. Where the original is unset and its reader falls back to a number, that number.
 */
export type Default = (null | boolean | number | string | number[])
/**
 * Smallest and largest legal value; null for an open end.
 * 
 * @minItems 2
 * @maxItems 2
 */
export type Range = [(number | null), (number | null)]
/**
 * What it does.
 */
export type Effect = string
/**
 * Phases that the sources name as readers. The phase table says what may really read it.
 */
export type Readers = string[]
/**
 * Other names that find this knob.
 */
export type Aliases = string[]
/**
 * False where only the index is known and the name is 'Knob' with the index. Default: true.
 */
export type NameIsDecoded = boolean
/**
 * True where the knob exists only in this project. Default: false.
 */
export type OurOwn = boolean
/**
 * How sources disagree, and what was chosen.
 */
export type Conflict = string
/**
 * Where the entry is from.
 */
export type Source = string

/**
 * Every knob: index, type, default, who reads it, where it is from.
 */
export interface Knobs {
kind: Kind
knobs: Knobs1
}
/**
 * Knobs by name. Look-up ignores case and also finds aliases.
 */
export interface Knobs1 {
[k: string]: Knob
}
/**
 * One typed setting.
 */
export interface Knob {
index: Index
space?: Table
type: Type
typeAssumed?: TypeIsAssumed
default: Default
range?: Range
effect: Effect
readers?: Readers
aliases?: Aliases
decoded?: NameIsDecoded
ours?: OurOwn
conflict?: Conflict
source: Source
}
}

export namespace LaunchSpec {
export type LaunchParamRow = (Param & Param1)
export type Param = {
[k: string]: unknown
}

/**
 * A kernel, its grid, its arguments, and what must come out.
 */
export interface Launch {
kind: "launch"
/**
 * One line for readers.
 */
title?: string
/**
 * PTX file, relative to this file.
 */
module: string
/**
 * Name of the entry.
 */
kernel: string
/**
 * @minItems 1
 * @maxItems 3
 */
grid: [number]|[number, number]|[number, number, number]
/**
 * @minItems 1
 * @maxItems 3
 */
block: [number]|[number, number]|[number, number, number]
"dynamic-shared"?: number
params: LaunchParamRow[]
}
export interface Param1 {
scalar?: ("s8" | "u8" | "b8" | "s16" | "u16" | "b16" | "f16" | "bf16" | "s32" | "u32" | "b32" | "f32" | "s64" | "u64" | "b64" | "f64")
/**
 * Number; 64-bit values beyond 2^53 as text.
 */
value?: (number | string)
buffer?: ("s8" | "u8" | "b8" | "s16" | "u16" | "b16" | "f16" | "bf16" | "s32" | "u32" | "b32" | "f32" | "s64" | "u64" | "b64" | "f64")
/**
 * Elements.
 */
length?: number
/**
 * Little-endian file with the initial contents.
 */
data?: string
/**
 * zero, iota, or random with a seed and bounds.
 */
fill?: (("zero" | "iota") | {
random: {
seed: number
min: number
max: number
}
})
/**
 * Little-endian file with what must stand there afterwards.
 */
expect?: string
/**
 * Relative; exact without it.
 */
tolerance?: number
/**
 * Size of a parameter passed by value.
 */
bytes?: number
}
}

export namespace OrderSpec {
/**
 * When phases run: a full list of phase names, or edits of another order. The phase index array is built from it. Either phases, or extends with edits.
 */
export type Order = ({
kind: Kind
title?: Title
extends?: Extends
phases?: Phases
edits?: Edits
} & {
[k: string]: unknown
})
/**
 * Names this schema.
 */
export type Kind = "order"
/**
 * What this order is for, in a few words.
 */
export type Title = string
/**
 * Name of the order that the edits change: its file name without the ending.
 */
export type Extends = string
/**
 * Phase ids in order. 'name' is the first row of that name, 'name#2' the second. A row that is not listed does not run by itself.
 * 
 * @minItems 1
 */
export type Phases = [PhaseId, ...(PhaseId)[]]
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type PhaseId = string
/**
 * Exactly one of move, replace, drop, insert, insertPass, insertRules. All but replace and drop need one of before and after; replace needs with.
 */
export type Edit = (Edit1 & Edit2)
export type Edit1 = {
[k: string]: unknown
}
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type PhaseId1 = string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type PhaseId2 = string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type PhaseId3 = string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type PhaseId4 = string
/**
 * Levels at which it is dropped. Missing: all.
 * 
 * @minItems 1
 */
export type Levels = [number, ...(number)[]]
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type PhaseId5 = string
/**
 * Registered pass that runs at this place without a row of its own.
 */
export type InsertPass = string
/**
 * Rule group that runs at this place without a row of its own.
 */
export type InsertRules = string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type PhaseId6 = string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type PhaseId7 = string
/**
 * Reason, for the reviewer.
 */
export type Why = string
/**
 * Applied in turn; each sees what the ones above it did.
 */
export type Edits = Edit[]

export interface Edit2 {
move?: PhaseId1
replace?: PhaseId2
with?: PhaseId3
drop?: PhaseId4
levels?: Levels
insert?: PhaseId5
insertPass?: InsertPass
params?: Parameters
insertRules?: InsertRules
before?: PhaseId6
after?: PhaseId7
why?: Why
}
/**
 * Values for the inserted pass.
 */
export interface Parameters {
[k: string]: unknown
}
}

export namespace PhasesSpec {
/**
 * Names this schema.
 */
export type Kind = "phases"
/**
 * What holds of the IR while the property does.
 */
export type Meaning = string
/**
 * True where the lowering of PTX already gives it. Default: false.
 */
export type HoldsAtTheStart = boolean
/**
 * Rows by seed number; named workers follow.
 * 
 * @minItems 1
 */
export type Rows = [Phase, ...(Phase)[]]
/**
 * 0..158, or null for a named worker without one.
 */
export type SeedNumber = (number | null)
/**
 * Position in the executed table of the compiler that this one is modelled on; a worker shares it with its slot.
 */
export type TrueIndex = number
/**
 * Key in orders, constraints, recipes and on the command line. The second row of the same name has the id name#2.
 */
export type Name = string
/**
 * Group 1 to 7 of the seeds' table. A named worker has the group of the rows beside it in the true order.
 */
export type Stage = number
/**
 * Stage 1 to 10 of the newer grouping, where it is known.
 */
export type OCGStage = number
/**
 * What kind of work it is.
 */
export type Category = ("Optimization" | "Lowering" | "Analysis" | "Validation" | "Reporting" | "Cleanup" | "Scheduling" | "RegAlloc" | "Encoding" | "Hook")
/**
 * implemented: does what its purpose says. partial: 'note' says what is missing. marker: does nothing by itself. not-applicable: has no meaning for compute. unbound: nothing is bound yet.
 */
export type Status = ("implemented" | "partial" | "marker" | "not-applicable" | "unbound")
/**
 * One short sentence.
 */
export type Purpose = string
/**
 * What is missing (partial), why it has no meaning here (not-applicable), or which sources disagree and which was followed.
 */
export type Note = string
/**
 * What runs here, in turn. Missing: nothing is bound.
 * 
 * @minItems 1
 */
export type Passes = [PassBinding, ...(PassBinding)[]]
/**
 * Name of a registered pass: its file in src/passes without the ending.
 */
export type Pass = string
/**
 * Rule groups that run here after the passes.
 * 
 * @minItems 1
 */
export type RuleGroups = [string, ...(string)[]]
/**
 * Levels at which it runs, tested on the effective level. Missing: all.
 * 
 * @minItems 1
 */
export type Levels = [OptimizationLevel, ...(OptimizationLevel)[]]
/**
 * 0 to 5; the command line gives 0 to 4.
 */
export type OptimizationLevel = number
/**
 * The gate asks the level accessor and so spends one unit of OptBudget. Default: false.
 */
export type AsksTheEffectiveLevel = boolean
/**
 * Set (true, or any number but 0) shuts the gate.
 */
export type KnobsThatMustNotBeSet = string[]
/**
 * Unset, false or 0 shuts the gate.
 */
export type KnobsThatMustBeSet = string[]
/**
 * Each run takes one unit of each; a spent one shuts the gate; an unset one has no limit.
 */
export type BudgetKnobs = string[]
/**
 * Path in the resolved back end, e.g. capabilities.uniform-registers.
 */
export type Path = string
/**
 * The value it must have.
 */
export type Value = (boolean | number | string)
/**
 * Facts of the back end that must hold.
 */
export type BackEndFacts = BackEndFact[]
/**
 * Every knob that the phase may read, those of its gate included. Reading another is an error.
 */
export type Knobs = string[]
/**
 * Paths of back-end facts that the phase may read; a path covers everything below it.
 */
export type Facts = string[]
/**
 * IR properties that must hold before it.
 */
export type Requires = string[]
/**
 * IR properties that hold after it.
 */
export type Provides = string[]
/**
 * IR properties that need not hold after it.
 */
export type Destroys = string[]
/**
 * One of the 16 hook points. A: dispatches a worker phase. B: calls a back-end slot. C: writes only the progress counter. A hook is a no-op until a recipe binds something to it.
 */
export type Hook = ("A" | "B" | "C")
/**
 * Name of the phase that a hook dispatches. It runs in the hook's place, or at its own place in an order that lists it; never at both.
 */
export type Worker = string
/**
 * Seed number of the slot whose worker this row is. The slot runs the work, so that it runs once: nothing is bound to the worker's own row.
 */
export type Slot = number
/**
 * Value that it writes to the progress counter.
 */
export type Progress = number
/**
 * isNoOp: execution is skipped, a record is still written. Binding something to the phase in a recipe clears it. Default: false.
 */
export type NoOp = boolean
/**
 * May not be disabled or dropped. Default: false.
 */
export type Required = boolean
/**
 * Where the row comes from.
 */
export type Source = string

/**
 * The table of phases: one row for each phase of the pipeline, and one for each named worker that has no seed number. The table says what a phase is and what is bound to it; an order says when it runs.
 */
export interface Phases {
kind: Kind
properties: IRProperties
phases: Rows
}
/**
 * Vocabulary of 'requires', 'provides' and 'destroys': name -> what it promises.
 */
export interface IRProperties {
[k: string]: IRProperty
}
/**
 * Something that holds of the IR from the phase that provides it to the phase that destroys it.
 */
export interface IRProperty {
means: Meaning
initial?: HoldsAtTheStart
}
/**
 * One row.
 */
export interface Phase {
index: SeedNumber
trueIndex: TrueIndex
name: Name
stage: Stage
ocgStage?: OCGStage
category: Category
status: Status
purpose: Purpose
note?: Note
passes?: Passes
rules?: RuleGroups
gate?: Gate
knobs?: Knobs
facts?: Facts
requires?: Requires
provides?: Provides
destroys?: Destroys
hook?: Hook
worker?: Worker
slot?: Slot
progress?: Progress
noOp?: NoOp
required?: Required
source: Source
}
/**
 * A registered pass, and the parameters it gets here.
 */
export interface PassBinding {
pass: Pass
params?: Parameters
}
/**
 * Values for this binding; the pass says which it knows.
 */
export interface Parameters {
[k: string]: unknown
}
/**
 * When the phase runs. All parts must hold; a missing part always holds.
 */
export interface Gate {
levels?: Levels
asksLevel?: AsksTheEffectiveLevel
unset?: KnobsThatMustNotBeSet
set?: KnobsThatMustBeSet
budget?: BudgetKnobs
facts?: BackEndFacts
}
/**
 * The phase runs only where this fact of the back end has this value.
 */
export interface BackEndFact {
path: Path
equals: Value
}
}

export namespace RecipeSpec {
export type HookItem = (Item & Item1)
export type Item = {
[k: string]: unknown
}

/**
 * What one target or kernel does differently: hooks, knobs, phases, level.
 */
export interface Recipe {
kind: "recipe"
/**
 * One line for readers.
 */
title?: string
/**
 * Targets it is for.
 * 
 * @minItems 1
 */
sm?: [string, ...(string)[]]
/**
 * Optimization level that it sets; the command line wins.
 */
level?: number
/**
 * Knob values.
 */
knobs?: {
/**
 * Value of the knob, of its type.
 */
[k: string]: null | boolean | number | string | number[]
}
/**
 * Hook phase -> what runs there.
 */
hooks?: {
[k: string]: HookItem[]
}
phases?: {
/**
 * Items: Phase.
 */
disable?: string[]
}
when?: {
/**
 * Glob on the kernel name: * and ?.
 */
kernel?: string
}
}
export interface Item1 {
pass?: string
params?: {
[k: string]: unknown
}
/**
 * Rule group.
 */
rules?: string
}
}

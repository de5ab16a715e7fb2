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
/**
 * Names this schema.
 */
export type Kind = "isa"
/**
 * What an opcode takes, gives and means. It has either a meaning or a primitive.
 */
export type Opcode = (Opcode1 & Opcode2)
export type Opcode1 = {
[k: string]: unknown
}
/**
 * What it does, in one line.
 */
export type Title = string
/**
 * Operands: destinations, then = and sources; each name:type[?][*][/modifiers].
 */
export type Form = string
/**
 * What passes must know of it.
 */
export type Properties = ("side-effect" | "control" | "no-fall-through" | "commutative" | "predicable" | "pseudo" | "reads-memory" | "writes-memory" | "convergent" | "barrier" | "volatile" | "approximate" | "pure")[]
/**
 * Functional unit that executes it.
 */
export type Unit = ("alu" | "fma" | "fp64" | "fp16" | "xu" | "lsu" | "control" | "special")
/**
 * Space that it reads or writes.
 */
export type MemorySpace = ("generic" | "shared" | "local" | "const" | "param" | "global" | "cluster")
/**
 * Number seen in traces of the original; never dispatched on.
 */
export type ObservedNumber = number
/**
 * Named primitive that carries it out.
 */
export type Primitive = string
/**
 * Meaning in the expression language.
 */
export type Meaning = string

/**
 * Opcodes of Ori: operands, modifiers, properties and meaning.
 */
export interface Isa {
kind: Kind
opcodes: Opcodes
}
/**
 * Opcode name -> what it is.
 */
export interface Opcodes {
[k: string]: Opcode
}
export interface Opcode2 {
title: Title
form: Form
default?: Defaults
modifiers?: Modifiers
props: Properties
unit: Unit
space?: MemorySpace
observed?: ObservedNumber
primitive?: Primitive
means?: Meaning
}
/**
 * Values of optional sources that are left out.
 */
export interface Defaults {
[k: string]: number | boolean
}
/**
 * Groups: a list of values, a map of values to scalar types, or NAME? for an optional flag. A key that ends in ! is always printed.
 */
export interface Modifiers {
[k: string]: string | string[] | {
[k: string]: string
}
}
}

export namespace KnobSetSpec {
/**
 * Names this schema.
 */
export type Kind = "knob-set"
/**
 * One line for readers.
 */
export type Title = string
/**
 * Of the type of the knob. Flag: true or false. Range: [lo, hi] or text lo..hi. List: integers. null: unset.
 */
export type Value = (null | boolean | number | string | number[])
/**
 * Pattern on the kernel name: * is any text, ? any one character.
 */
export type Kernel = string

/**
 * A named set of knob values, to try against others. It wins over the recipe and loses to the command line.
 */
export interface KnobSet {
kind: Kind
title?: Title
knobs: Knobs
when?: When
}
/**
 * Knob name or alias -> value.
 */
export interface Knobs {
[k: string]: Value
}
/**
 * Kernels that this is for. Missing: all.
 */
export interface When {
kernel: Kernel
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
/**
 * Names this schema.
 */
export type Kind = "launch"
/**
 * One line for readers.
 */
export type Title = string
/**
 * PTX file, relative to this file.
 */
export type Module = string
/**
 * Name of the entry.
 */
export type Kernel = string
/**
 * Blocks in x, y, z; missing ones are 1.
 * 
 * @minItems 1
 * @maxItems 3
 */
export type Grid = [number]|[number, number]|[number, number, number]
/**
 * Threads of a block in x, y, z; missing ones are 1.
 * 
 * @minItems 1
 * @maxItems 3
 */
export type Block = [number]|[number, number]|[number, number, number]
/**
 * Bytes. Default: 0.
 */
export type DynamicSharedMemory = number
/**
 * One of scalar, buffer and bytes.
 */
export type Parameter = (Param & Param1)
export type Param = {
[k: string]: unknown
}
/**
 * Type of a number passed by value.
 */
export type Scalar = ("s8" | "u8" | "b8" | "s16" | "u16" | "b16" | "f16" | "bf16" | "s32" | "u32" | "b32" | "f32" | "s64" | "u64" | "b64" | "f64")
/**
 * The number; integers beyond 2^53 as text. nan, inf and -inf as text.
 */
export type Value = (number | string)
/**
 * Element type of memory whose address is passed.
 */
export type Buffer = ("s8" | "u8" | "b8" | "s16" | "u16" | "b16" | "f16" | "bf16" | "s32" | "u32" | "b32" | "f32" | "s64" | "u64" | "b64" | "f64")
/**
 * Elements.
 */
export type Length = number
/**
 * Little-endian file with the contents before the run, relative to this file.
 */
export type Data = string
/**
 * Contents before the run without a file: zero, iota (0, 1, 2, ...), or random with a seed and bounds. Default: zero.
 */
export type Fill = (("zero" | "iota") | RandomFill)
/**
 * Start of the generator.
 */
export type Seed = number
/**
 * Smallest value.
 */
export type Minimum = number
/**
 * All values are below it.
 */
export type Maximum = number
/**
 * Little-endian file with the contents after the run, relative to this file.
 */
export type Expect = string
/**
 * Relative; exact without it.
 */
export type Tolerance = number
/**
 * Size of a parameter passed by value.
 */
export type Bytes = number
/**
 * In the order of the kernel; buffers become pointers.
 */
export type Parameters = Parameter[]

/**
 * A kernel, its grid, its arguments, and what must come out.
 */
export interface Launch {
kind: Kind
title?: Title
module: Module
kernel: Kernel
grid: Grid
block: Block
"dynamic-shared"?: DynamicSharedMemory
params: Parameters
}
export interface Param1 {
scalar?: Scalar
value?: Value
buffer?: Buffer
length?: Length
data?: Data
fill?: Fill
expect?: Expect
tolerance?: Tolerance
bytes?: Bytes
}
/**
 * Random values.
 */
export interface RandomFill {
random: Random
}
/**
 * splitmix64 from a seed; values in [min, max).
 */
export interface Random {
seed: Seed
min: Minimum
max: Maximum
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
/**
 * Names this schema.
 */
export type Kind = "recipe"
/**
 * One line for readers.
 */
export type Title = string
/**
 * Targets that it is made for; a warning on any other. Missing: all.
 * 
 * @minItems 1
 */
export type Targets = [Target, ...(Target)[]]
/**
 * sm_NN.
 */
export type Target = string
/**
 * Optimization level, unless the command line names one.
 */
export type Level = number
/**
 * Of the type of the knob. Flag: true or false. Range: [lo, hi] or text lo..hi. List: integers. null: unset.
 */
export type Value = (null | boolean | number | string | number[])
/**
 * Passes and rule groups.
 * 
 * @minItems 1
 */
export type Items = [HookItem, ...(HookItem)[]]
/**
 * One of pass and rules.
 */
export type HookItem = (Item & Item1 & Item & Item1)
export type Item = ({
[k: string]: unknown
} | {
[k: string]: unknown
})
/**
 * A registered pass: the name of its file in src/passes without the ending.
 */
export type Pass = string
/**
 * Rule group.
 */
export type Rules = string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type Phase = string
/**
 * Phases that do not run. A required phase cannot be disabled.
 */
export type Disable = Phase[]
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type Phase1 = string
/**
 * Phases that run at every level: the level test of the gate and a drop by the order are lifted. Knobs and target facts of the gate still hold.
 */
export type Enable = Phase1[]
/**
 * Pattern on the kernel name: * is any text, ? any one character.
 */
export type Kernel = string

/**
 * What one target, or one kind of kernel, does differently: level, knobs, hooks, phases. The command line wins over it.
 */
export interface Recipe {
kind: Kind
title?: Title
sm?: Targets
level?: Level
knobs?: Knobs
hooks?: Hooks
phases?: Phases
when?: When
}
/**
 * Knob name or alias -> value.
 */
export interface Knobs {
[k: string]: Value
}
/**
 * Hook phase -> what runs there, in turn.
 */
export interface Hooks {
[k: string]: Items
}
export interface Item1 {
pass?: Pass
params?: Parameters
rules?: Rules
}
/**
 * Values for this binding; the pass says which it knows.
 */
export interface Parameters {
[k: string]: unknown
}
/**
 * Phases that are switched.
 */
export interface Phases {
disable?: Disable
enable?: Enable
}
/**
 * Kernels that this is for. Missing: all.
 */
export interface When {
kernel: Kernel
}
}

export namespace RulesSpec {
/**
 * Names this schema.
 */
export type Kind = "rules"
/**
 * One line for readers.
 */
export type Title = string
/**
 * Name that phases, hooks and orders bind to.
 */
export type Group = string
/**
 * Phases that may run the group. Missing: any.
 * 
 * @minItems 1
 */
export type Owner = [Phase, ...(Phase)[]]
/**
 * Phase name.
 */
export type Phase = string
/**
 * Tried by descending priority, then in the order of the file.
 * 
 * @minItems 1
 */
export type Rules1 = [Rule, ...(Rule)[]]
/**
 * Unique among all rules.
 */
export type Id = string
/**
 * The identity as algebra, for readers.
 */
export type Title1 = string
/**
 * Ori instructions, one a line; $names are variables, #names immediates. The last one is the root.
 */
export type Match = string
/**
 * Condition over variables, constants, use counts, target, level and knobs.
 */
export type When = string
/**
 * Ori instructions that take the place of the root.
 */
export type Rewrite = string
/**
 * Phases that may run this rule. Missing: those of the group.
 * 
 * @minItems 1
 */
export type Owner1 = [Phase1, ...(Phase1)[]]
/**
 * Phase name.
 */
export type Phase1 = string
/**
 * Higher is tried first. Default: 0.
 */
export type Priority = number
/**
 * Instructions saved, where the count of lines does not say it.
 */
export type Cost = number
/**
 * Where the rule is from.
 */
export type Source = string

/**
 * A group of rewrite rules over Ori. The group is bound to phases and hooks by its name.
 */
export interface Rules {
kind: Kind
title?: Title
group: Group
owner?: Owner
rules: Rules1
}
/**
 * One rewrite: what is matched, under which conditions, and what takes its place.
 */
export interface Rule {
id: Id
title: Title1
match: Match
when?: When
rewrite: Rewrite
owner?: Owner1
priority?: Priority
cost?: Cost
source: Source
}
}

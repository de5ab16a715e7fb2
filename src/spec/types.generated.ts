// Generated from schemas/*.schema.json by `npm run generate`. Do not edit.

export namespace BackendSpec {
/**
 * Opcodes with a form in the uniform datapath.
 */
export type Opcodes = string[]
/**
 * Other opcodes that take a uniform register as an operand.
 */
export type Opcodes1 = string[]

/**
 * What differs by SM. A family file holds what its SMs share; an SM file extends it key by key. Phases read these values as facts, by path.
 */
export interface Backend {
/**
 * Names this schema.
 */
kind: "backend"
/**
 * The file's name without its ending: sm_90, or a family.
 */
name: string
/**
 * Back end whose values hold where this file says nothing. Maps merge key by key, everything else is replaced.
 */
extends?: string
/**
 * Target name; only an SM file has it.
 */
sm?: string
/**
 * generation << 12 | ordinal.
 */
code?: number
/**
 * Back-end class by SM name (labels of seed 003).
 */
class?: ("SM30" | "SM50" | "SM60" | "SM70" | "SM80" | "SM89" | "SM90")
/**
 * Marketing family.
 */
gpu?: string
/**
 * The SM is described, but no PTX 9.0 tool targets it.
 */
legacy?: boolean
/**
 * Back-end method slots, by byte offset (outer-N, subtarget-N for the other two objects) -> handler. 'none' is the no-op.
 */
slots?: {
[k: string]: string
}
/**
 * What the hardware has.
 */
capabilities?: {
[k: string]: boolean
}
/**
 * Sizes and counts.
 */
limits?: {
/**
 * A number, or a rising list of configurations.
 */
[k: string]: number | number[]
}
/**
 * Cycles for which an instruction of one warp occupies a unit of its sub-partition: by unit, and by name for opcodes that expand into several instructions ('IDIV', 'IDIV_64').
 */
costs?: {
/**
 * Cycles.
 */
[k: string]: number
}
/**
 * Cycles from the issue of an instruction to the use of its result: by unit, by memory space for loads (a hit in the level of the hierarchy where most loads hit), and by opcode where it differs from its unit.
 */
latencies?: {
/**
 * Cycles.
 */
[k: string]: number
}
/**
 * Opcodes that not every target has, with modifiers if only those forms are meant -> 'native', 'none', or the phase whose rules expand them. The entry with the most modifiers wins; an opcode that is not listed is native.
 */
operations?: {
/**
 * How the target supports it.
 */
[k: string]: string
}
uniform?: UniformDatapath
encoding?: Encoding
/**
 * Byte offset of the first kernel parameter in constant bank 0.
 */
"param-base"?: number
recipe?: Recipe
/**
 * Hooks of kind B -> what the slot of this back end runs there, in order. A recipe replaces it, or includes it (`inherited`).
 */
hooks?: {
/**
 * Passes and rule groups.
 */
[k: string]: Step[]
}
/**
 * Knob values of this target; a recipe, a knob set or the command line overrides them.
 */
knobs?: {
/**
 * As in a knob set.
 */
[k: string]: boolean | number | string | number[]
}
/**
 * Path, or the start of one -> source of the value. Every number has one.
 */
sources?: {
[k: string]: string
}
/**
 * Path -> what other sources say, and why this value was chosen.
 */
doubts?: {
[k: string]: string
}
}
/**
 * What the uniform datapath computes, and which opcodes read its registers.
 */
export interface UniformDatapath {
operations?: Opcodes
readers?: Opcodes1
/**
 * Maximum number of operands of a reader that are uniform registers, constants of a bank, or immediates.
 */
reads?: number
/**
 * Memory spaces whose addresses may be a uniform register.
 */
"address-spaces"?: ("shared" | "local" | "global" | "generic" | "const")[]
}
/**
 * Facts about machine code.
 */
export interface Encoding {
/**
 * Bytes of one instruction.
 */
"instruction-bytes"?: (8 | 16)
/**
 * Scheduler dispatch slots.
 */
"dispatch-slots"?: number
/**
 * Words of a scheduler partition.
 */
"partition-words"?: number
/**
 * Where stall, yield and barrier fields are.
 */
"control-bits"?: ("control-word" | "in-instruction")
}
/**
 * What the recipe manager does on the target. It is on if a recipe is named, or knob Knob391 (NvOptRecipe) is set.
 */
export interface Recipe {
/**
 * Recipe that is applied if the manager is on and no recipe is named.
 */
default?: string
/**
 * Application mode of recipes that name none: 0 none, 1 all functions, 2 kernels, 3 device functions, 4 those with a loop, 5 those without, 7 those for which no `when` holds.
 */
mode?: (0 | 1 | 2 | 3 | 4 | 5 | 7)
}
/**
 * One of: a pass, rule groups, a named list of steps, repeated steps.
 */
export interface Step {
/**
 * A registered pass: the name of its file in src/passes without the ending.
 */
pass?: string
/**
 * Parameters for this binding; the pass declares which it has.
 */
params?: {
[k: string]: unknown
}
/**
 * Rule groups that are tried together as one set: by descending priority, then in the order given here.
 */
rules?: string[]
/**
 * Name of a list in `stepLists` of the phase table; all its steps run here.
 */
use?: string
/**
 * Steps that run in order, again and again, until none of them changes anything.
 */
repeat?: Step[]
/**
 * Maximum number of rounds.
 */
rounds?: number
}
}

export namespace BudgetSpec {
/**
 * How far a change of the specs may worsen metrics of kernels: `orrery diff` fails where a limit is exceeded.
 */
export interface Budget {
/**
 * Names this schema.
 */
kind: "budget"
/**
 * One line for readers.
 */
title?: string
/**
 * Limits, each checked on its own.
 */
limits: Limit[]
}
/**
 * A bound on a metric: percent, by, or both, which are exceeded only together; or most, or least.
 */
export interface Limit {
/**
 * Name of an exact metric of a kernel.
 */
metric: string
/**
 * each: for every kernel separately; total: for the sum over all kernels. Missing: each.
 */
of?: ("each" | "total")
/**
 * Names of the kernels that the limit applies to; * is any text, ? one character. Missing: all.
 */
kernels?: string
/**
 * Name of another metric: the limit applies only to kernels without a value of that metric, so that an estimate counts only if nothing better is known.
 */
unless?: string
/**
 * Maximum loss against the base in percent; 0: never worse. With by: exceeded only if that is exceeded too.
 */
percent?: number
/**
 * Maximum loss against the base, in the unit of the metric.
 */
by?: number
/**
 * Upper bound, whatever the base has.
 */
most?: number
/**
 * Lower bound, whatever the base has.
 */
least?: number
}
}

export namespace ConstraintsSpec {
/**
 * Which phase must run before which, and why. Every resolved order is checked against these constraints.
 */
export interface Constraints {
/**
 * Names this schema.
 */
kind: "constraints"
/**
 * Pairs of phases with the reason for their order.
 */
constraints: Constraint[]
}
/**
 * The first occurrence of 'before' must come before the first occurrence of 'after'. The constraint does not apply if one of the two is missing.
 */
export interface Constraint {
/**
 * Phase that must come first.
 */
before: string
/**
 * Phase that must come later.
 */
after: string
/**
 * What breaks otherwise; printed with the error.
 */
why: string
/**
 * Where the reason is from.
 */
source: string
/**
 * Full orders (and orders that extend them) to which it applies. Missing: all.
 */
orders?: string[]
/**
 * error: an order that violates it is rejected. warning: the result stays correct, but the later phase has less to work on; the order is accepted with a warning. Default: error.
 */
severity?: ("error" | "warning")
}
}

export namespace ExperimentSpec {
/**
 * What is tried on which kernels: arms over knobs, positions of phases and disabled phases, and the metrics that count.
 */
export interface Experiment {
/**
 * Names this schema.
 */
kind: "experiment"
/**
 * One line for readers.
 */
title?: string
base?: Base
factors?: Factors
/**
 * How arms are made from the factors: grid, every combination; one-at-a-time, each value alone against the base; random and latin-hypercube, samples drawn with a seed. Missing: grid. Without factors, only the listed arms.
 */
design?: ("grid" | "one-at-a-time" | "random" | "latin-hypercube")
/**
 * Number of arms that random and latin-hypercube draw.
 */
samples?: number
/**
 * Seed of the samples. Missing: 1.
 */
seed?: number
/**
 * Arms in addition to those of the design, as short texts: 'recipe:mine.yaml NAME=1'.
 * 
 * Items: As on the command line of `orrery ab`.
 */
arms?: string[]
/**
 * PTX files, folders, patterns or launch files, relative to this file.
 * 
 * Items: File or pattern.
 */
kernels: string[]
/**
 * Metrics that count; the first decides which arm is best. Missing: warp-instructions if every kernel has a launch, otherwise weighted; then pressure.R.
 * 
 * Items: Name of an exact metric of a kernel.
 */
metrics?: string[]
/**
 * Bounds that an arm must keep for every kernel.
 */
constraints?: Constraint[]
}
/**
 * The plan that arms differ from. Missing: the target of each kernel, level 3, the usual order.
 */
export interface Base {
/**
 * Optimization level.
 */
level?: number
/**
 * sm_NN; missing: what each kernel names.
 */
sm?: string
/**
 * Name or file of an order.
 */
order?: string
/**
 * Name or file of a recipe, or several; later ones win.
 */
recipe?: (string | string[])
/**
 * Names or files; later ones win.
 * 
 * Items: Name or file.
 */
"knob-sets"?: string[]
/**
 * Knob name -> value.
 */
set?: {
/**
 * As in a knob set; the text 'default' leaves the knob as in the base.
 */
[k: string]: null | boolean | number | string | number[]
}
/**
 * Phases that no arm runs.
 * 
 * Items: A phase name, or name#n for the n-th occurrence.
 */
disable?: string[]
/**
 * Additional rule groups or files.
 * 
 * Items: Name or file.
 */
rules?: string[]
/**
 * Files that declare instructions of the kernels that PTX does not have.
 * 
 * Items: Relative to this one.
 */
isa?: string[]
}
/**
 * What varies between arms.
 */
export interface Factors {
/**
 * Knob name -> the values that it takes, or a range.
 */
knobs?: {
[k: string]: (null | boolean | number | string | number[])[] | Range
}
/**
 * Phases that are on in some arms and off in others.
 * 
 * Items: A phase name, or name#n for the n-th occurrence.
 */
switches?: string[]
/**
 * Phase -> places to try in addition to its own.
 */
positions?: {
/**
 * Places.
 */
[k: string]: Place[]
}
}
/**
 * Numbers between two ends.
 */
export interface Range {
/**
 * Lower end.
 */
from: number
/**
 * Upper end.
 */
to: number
/**
 * Number of values that a grid takes from the range. Missing: 4.
 */
steps?: number
/**
 * Spacing of the values between the ends. Missing: linear.
 */
scale?: ("linear" | "log")
/**
 * Integers only. Missing: true.
 */
integer?: boolean
}
/**
 * Before or after another phase.
 */
export interface Place {
/**
 * The phase runs before this one.
 */
before?: string
/**
 * The phase runs after this one.
 */
after?: string
}
/**
 * A bound on a metric: one of never, most, least.
 */
export interface Constraint {
/**
 * Name of an exact metric of a kernel.
 */
metric: string
/**
 * No kernel has more (or less) of it than with the base.
 */
never?: ("more" | "less")
/**
 * No kernel has more of it than this.
 */
most?: number
/**
 * No kernel has less of it than this.
 */
least?: number
}
}

export namespace IsaSpec {
/**
 * Space that it reads or writes.
 */
export type Space = ("generic" | "shared" | "local" | "const" | "param" | "global" | "cluster")

/**
 * Opcodes of Ori: operands, modifiers, properties and meaning; PTX instructions that are carried unchanged.
 */
export interface Isa {
/**
 * Names this schema.
 */
kind: "isa"
/**
 * Opcode name -> what it is.
 */
opcodes?: {
[k: string]: Opcode
}
/**
 * PTX instructions that Ori carries unchanged: patterns of their names, and the opcode that stands for them. The first row that matches is used.
 */
foreign?: ForeignRow[]
}
/**
 * Operands, results and meaning of an opcode. It has either a meaning or a primitive.
 */
export interface Opcode {
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
 * Groups: a list of values, a map of values to scalar types, or NAME? for an optional flag. A key that ends in ! is always printed.
 */
modifiers?: {
[k: string]: string | string[] | {
[k: string]: string
}
}
/**
 * What passes must know about it.
 */
props: ("side-effect" | "control" | "no-fall-through" | "commutative" | "predicable" | "pseudo" | "reads-memory" | "writes-memory" | "convergent" | "barrier" | "volatile" | "approximate" | "pure" | "symmetric" | "table" | "phi" | "hands-address-on" | "reflexive" | "carries" | "copies" | "selects")[]
/**
 * To what extent the lanes that execute it together agree on its results: block, warp or varying; warp(mask) - across the warp, if they agree on the source mask; operands - as far as on all sources; memory - as far as on the address, if nothing writes there. Or rows of result names and modifier values; the first that matches applies. For a branch: where the lanes go. Without it, results of pure opcodes are as uniform as their operands, and all others varying.
 */
lanes?: (string | {
[k: string]: string
})
/**
 * What is known about each value of the first modifier group, a special register; one without a row may hold any value, different in every lane.
 */
special?: {
[k: string]: SpecialRegister
}
/**
 * Functional unit that executes it.
 */
unit: ("alu" | "fma" | "fp64" | "fp16" | "xu" | "lsu" | "control" | "special")
/**
 * Class under which reports count it. Absent: control, warp (convergent) or memory by its properties and unit, predicate if its first result is one, float on the units fma, fp64 and fp16, and integer otherwise.
 */
class?: ("integer" | "float" | "convert" | "move" | "predicate" | "memory" | "warp" | "control")
space?: Space
/**
 * Accesses through an address operand, if the space, the properties and the modifier group 'type' do not determine them.
 */
accesses?: {
[k: string]: Access
}
/**
 * Number seen in traces of the original; never dispatched on.
 */
observed?: number
/**
 * Name of the primitive that executes it.
 */
primitive?: string
/**
 * Meaning in the expression language; empty if the opcode computes no value.
 */
means?: string
}
/**
 * What is known about a special register.
 */
export interface SpecialRegister {
/**
 * Whether it is uniform across a block, across a warp, or neither.
 */
lanes: ("block" | "warp" | "varying")
/**
 * Smallest value, unsigned.
 */
least?: number
/**
 * Largest value, unsigned.
 */
most?: number
/**
 * A thread may read different values at different times.
 */
changes?: boolean
/**
 * It is the thread's index in the block along this axis.
 */
thread?: (0 | 1 | 2)
/**
 * It is the number of threads of the block along this axis.
 */
extent?: (0 | 1 | 2)
}
/**
 * What is done at one address operand.
 */
export interface Access {
space?: Space
/**
 * Reads, writes, or both. Absent: as the properties say.
 */
does?: ("read" | "write")[]
/**
 * Number of bytes from the address on, or the modifier group whose types give it.
 */
bytes?: (number | string)
}
/**
 * A family of PTX instructions and what passes must know about it.
 */
export interface ForeignRow {
/**
 * What the family does, in one line.
 */
title: string
/**
 * PTX names with their modifiers; * stands for any characters.
 */
ptx: string[]
/**
 * Ori opcode that stands for it, with modifiers: the opcode's properties are what passes know.
 */
as?: string
/**
 * How many operands from the first on are written. Absent: one, or none where the first operand is an address.
 */
results?: number
/**
 * The results are read too: each is the same register before and after.
 */
tied?: true
/**
 * Nothing is known about the operands: every register is assumed to be read and written, and a warning says so.
 */
unknown?: true
/**
 * Why Ori cannot carry it; functions with it are left out.
 */
none?: string
}
}

export namespace KnobSetSpec {
/**
 * A named set of knob values, to compare with others. It overrides recipes, and the command line overrides it.
 */
export interface KnobSet {
/**
 * Names this schema.
 */
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
 * Of the type of the knob. Flag: true or false. Range: [lo, hi] or text lo..hi. List: integers. null: unset.
 */
[k: string]: null | boolean | number | string | number[]
}
when?: When
}
/**
 * Functions that this applies to; all conditions must hold. Missing: all.
 */
export interface When {
/**
 * Pattern on the name of the function: * is any text, ? any one character.
 */
kernel?: string
/**
 * Hashes of functions before any phase; the function must have one of them: `orrery recipes FILE` prints them.
 * 
 * Items: 32 hexadecimal digits.
 */
hash?: string[]
}
}

export namespace KnobsSpec {
/**
 * Value if nothing sets it; null: unset. If the original is unset and its reader falls back to a number, that number.
 */
export type Value = (null | boolean | number | string | number[])

/**
 * Every knob: index, type, default, readers, source.
 */
export interface Knobs {
/**
 * Names this schema.
 */
kind: "knobs"
/**
 * Knobs by name. Look-up ignores case and also finds aliases.
 */
knobs: {
[k: string]: Knob
}
}
/**
 * One typed setting.
 */
export interface Knob {
/**
 * Number in the knob table; null if none is known or the knob is our own.
 */
index: (number | null)
/**
 * OCG: the optimizer's table. DAG: the encoder's table. Indices are unique within a table. Default: OCG.
 */
space?: ("OCG" | "DAG")
/**
 * NONE: presence is true. INT: integer. BDGT: budget, each query takes one unit, unset is unlimited. IRNG: lo..hi. ILIST: integers. FLOAT, DBL: numbers. STR: text. WHEN: conditional. OPLIST: opcode,number pairs. INT64: an integer of 64 bits, which no source lists as a type of knobs, only as the tag of option 391.
 */
type: ("NONE" | "INT" | "BDGT" | "IRNG" | "ILIST" | "FLOAT" | "DBL" | "STR" | "WHEN" | "OPLIST" | "INT64")
/**
 * No source states the type; the most likely one is given. Default: false.
 */
typeAssumed?: boolean
default: Value
/**
 * Smallest and largest legal value; null for an open end.
 * 
 * @minItems 2
 * @maxItems 2
 */
range?: [(number | null), (number | null)]
/**
 * What it does.
 */
effect: string
/**
 * Phases that the sources name as readers. The phase table decides which phases may read it.
 */
readers?: string[]
/**
 * True if the original reads it, in a phase that does something here, but no code does, often because no source says what for: setting it warns, reading it is an error. Default: false.
 */
unread?: boolean
/**
 * For a budget: true if each function has units of its own; otherwise all functions of a module share them. Default: false.
 */
perFunction?: boolean
/**
 * Other names that find this knob.
 */
aliases?: string[]
/**
 * False if only the index is known, so that the name is 'Knob' with the index. Default: true.
 */
decoded?: boolean
/**
 * True if the knob exists only in this project. Default: false.
 */
ours?: boolean
/**
 * True if results may differ from those of the hardware although every check here passes, so that `orrery tune` does not change it. Default: false.
 */
inexact?: boolean
/**
 * How sources disagree, and what was chosen.
 */
conflict?: string
/**
 * Where the entry is from.
 */
source: string
}
}

export namespace LaunchSpec {
/**
 * A kernel, its grid, its arguments, and the expected results.
 */
export interface Launch {
/**
 * Names this schema.
 */
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
 * Blocks in x, y, z; missing ones are 1.
 */
grid: number[]
/**
 * Threads of a block in x, y, z; missing ones are 1.
 */
block: number[]
/**
 * Blocks of a cluster in x, y, z; missing ones are 1. Default: what the kernel states (.reqnctapercluster), or one block.
 */
cluster?: number[]
/**
 * Bytes. Default: 0.
 */
"dynamic-shared"?: number
/**
 * Bytes of stack per thread. Default: 65536; --stack of the run command overrides it.
 */
stack?: number
/**
 * In the order of the kernel; buffers become pointers.
 */
params: Parameter[]
}
/**
 * One of scalar, buffer and bytes.
 */
export interface Parameter {
/**
 * Type of a number passed by value.
 */
scalar?: ("s8" | "u8" | "b8" | "s16" | "u16" | "b16" | "f16" | "bf16" | "s32" | "u32" | "b32" | "f32" | "s64" | "u64" | "b64" | "f64")
/**
 * The number; integers beyond 2^53 as text. nan, inf and -inf as text.
 */
value?: (number | string)
/**
 * Element type of memory whose address is passed.
 */
buffer?: ("s8" | "u8" | "b8" | "s16" | "u16" | "b16" | "f16" | "bf16" | "s32" | "u32" | "b32" | "f32" | "s64" | "u64" | "b64" | "f64")
/**
 * Elements.
 */
length?: number
/**
 * Little-endian file with the contents before the run, relative to this file.
 */
data?: string
/**
 * Contents before the run without a file: zero, iota (0, 1, 2, ...), or random with a seed and bounds. Default: zero.
 */
fill?: (("zero" | "iota") | RandomFill)
/**
 * Little-endian file with the contents after the run, relative to this file.
 */
expect?: string
/**
 * Relative, at most 1 %; exact without it.
 */
tolerance?: number
/**
 * Size of a parameter passed by value.
 */
bytes?: number
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
/**
 * Start of the generator.
 */
seed: number
/**
 * Smallest value.
 */
min: number
/**
 * All values are below it.
 */
max: number
}
}

export namespace MachineSpec {
/**
 * Fields of 128-bit instruction words. pipelines/machine/README.md describes the language of places, operands and modifiers.
 */
export interface Machine {
/**
 * Names this schema.
 */
kind: "machine"
/**
 * The file's name without its ending.
 */
name: string
/**
 * The family whose registers, values, layouts and forms apply unless this file replaces them.
 */
extends?: string
/**
 * Targets whose words these are.
 */
sms: string[]
/**
 * By the letters before a number.
 */
registers?: {
[k: string]: {
/**
 * Bits of a register's number.
 */
bits: number
/**
 * Number of the register that is constant: RZ, PT.
 */
constant?: number
/**
 * What stands in place of a number for that register.
 */
letter?: ("Z" | "T")
}
}
/**
 * Offsets in bytes of what the driver writes into constant bank 0, by name, before the arguments.
 */
driver?: {
/**
 * Three words: the size of a block along x, y and z.
 */
ntid?: number
/**
 * Three words: the blocks of the grid along x, y and z.
 */
nctaid?: number
/**
 * Two words: where shared memory begins in the generic space.
 */
"shared-window"?: number
/**
 * Two words: where local memory begins in the generic space.
 */
"local-window"?: number
/**
 * Two words: where constant bank 3, the module's constants, begins in the generic space.
 */
"constant-window"?: number
/**
 * A word: where the stack of a thread begins, in local memory.
 */
stack?: number
/**
 * Two words: a descriptor of global memory, which does not affect values.
 */
descriptor?: number
/**
 * A word: bytes of shared memory whose size the launch decides.
 */
"dynamic-shared"?: number
/**
 * Ten words: %envreg0 to %envreg9.
 */
environment?: number
/**
 * A word: %nsmid.
 */
nsmid?: number
/**
 * A word: bytes of shared memory that are the driver's.
 */
"driver-shared"?: number
/**
 * Two words: offsets of the end of the shared memory that is the driver's, and of its part 1.
 */
"driver-shared-end"?: number
/**
 * Three words: the blocks of a cluster along x, y and z.
 */
"cluster-size"?: number
/**
 * Three words: the clusters of the grid along x, y and z.
 */
clusters?: number
/**
 * A word: the blocks of a cluster.
 */
"cluster-blocks"?: number
/**
 * A word: 1 if the launch states the size of a cluster.
 */
"explicit-cluster"?: number
}
/**
 * Lists of names by value: words in their order ('_' has no name, '-' is reserved), or value -> name; 'otherwise' is what the others are called, before their number.
 */
values?: {
[k: string]: string | {
[k: string]: string
}
}
/**
 * Places of the operands that are a register, an immediate, a constant or a uniform register.
 */
layouts?: {
[k: string]: {
/**
 * Bits 9 to 11 of the opcode.
 */
code: number
set?: Set
/**
 * Bits of the reuse mask that belong to registers of slots, where they do not follow from where the registers stand.
 */
reuse?: {
[k: string]: number
}
/**
 * Slot of a row -> its operand. '@B' takes the signs that the row has for that place.
 */
slots: {
[k: string]: string
}
}
}
/**
 * Brackets before an address that the vendor's text leaves out.
 */
hides?: string[]
/**
 * Rows by name; null removes a row of the extended family.
 */
forms: {
[k: string]: null | Form
}
timing?: Timing
}
/**
 * Bits that are set in every word: place -> value.
 */
export interface Set {
[k: string]: number
}
/**
 * One opcode. A row that the extended family also has replaces it key by key.
 */
export interface Form {
/**
 * First word of the text, if it is not the name of the row.
 */
name?: string
/**
 * Bits 0 to 11; where the row has layouts, bits 0 to 8.
 */
opcode?: number
/**
 * Its layouts, separated by blanks.
 */
layouts?: string
/**
 * Operands in the order of the text, separated by commas.
 */
operands?: string
/**
 * Signs of operands that the layout places: letters of places -> signs.
 */
signs?: {
[k: string]: number | string
}
/**
 * How the immediate of a layout is read: s32+32, f32@32+32.
 */
immediate?: string
modifiers?: Modifiers
/**
 * Fields that are shown within operands, or that only decide which operands there are.
 */
inner?: Modifiers
set?: Set
/**
 * Bits of the reuse mask for registers that no layout places, where they do not follow from their places.
 */
reuse?: {
[k: string]: number
}
/**
 * File of the predicate register that guards it; without it, P.
 */
guard?: ("P" | "UP")
/**
 * Names that the vendor's text inserts after the first one; the first that matches is used: 'MOV in RRR when a=RZ & !X'.
 */
aliases?: string[]
/**
 * The unit that executes it.
 */
pipe?: ("alu" | "control" | "fma" | "fp64" | "lsu" | "mufu" | "tensor" | "tex" | "uniform")
}
/**
 * Name -> place, names of its values ('_' has none, '-' is reserved, $name is a list of 'values'), and the condition under which it is present. A place alone: a flag with the name of the modifier.
 */
export interface Modifiers {
[k: string]: number | string
}
/**
 * When results can be read. Lists are words: pipes, rows, or the first words of rows.
 */
export interface Timing {
/**
 * Instructions without a fixed latency: a barrier signals that their results are available.
 */
late?: string
/**
 * Queue -> instructions that go through it in order; those in no queue go through the queue of their pipe.
 */
queues?: {
[k: string]: string
}
/**
 * Class -> instructions whose timing differs from the rest of their pipe.
 */
classes?: {
[k: string]: string
}
/**
 * Classes whose second result register is available later than the first, and whose second register of operand c is read later.
 */
halves?: string
/**
 * Result (alu.R, or wide.hi.R: its second register) -> reader -> minimum cycles in ptxas' code, and the number of pairs.
 */
distances?: {
[k: string]: {
[k: string]: string
}
}
}
}

export namespace OrderSpec {
/**
 * A phase name, or name#n for the n-th occurrence.
 */
export type Id = string
/**
 * Levels at which this applies; at others, the order stays unchanged. Missing: all.
 */
export type Levels = number[]

/**
 * When phases run: a full list of phase names, or edits of another order. The phase index array is built from it. Either phases, or extends with edits.
 */
export interface Order {
/**
 * Names this schema.
 */
kind: "order"
/**
 * What this order is for, in a few words.
 */
title?: string
/**
 * Name of the order that the edits change: its file name without the ending.
 */
extends?: string
/**
 * Phase ids in order. 'name' is the first row of that name, 'name#2' the second. A row that is not listed does not run by itself.
 */
phases?: (Id | Element)[]
/**
 * Applied in order; each edit sees the effect of the ones above it.
 */
edits?: Edit[]
}
/**
 * A phase that runs at some levels only.
 */
export interface Element {
phase: Id
levels: Levels
/**
 * Reason, for the reviewer.
 */
why?: string
}
/**
 * Exactly one of move, replace, drop, insert, insertPass, insertRules, repeat. All but replace, drop and repeat need one of before and after; replace needs with, repeat needs rounds.
 */
export interface Edit {
/**
 * A phase name, or name#n for the n-th occurrence.
 */
move?: string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
replace?: string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
with?: string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
drop?: string
levels?: Levels
/**
 * A phase name, or name#n for the n-th occurrence.
 */
repeat?: string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
through?: string
/**
 * Maximum number of rounds, including the first.
 */
rounds?: number
/**
 * A phase name, or name#n for the n-th occurrence.
 */
insert?: string
/**
 * Registered pass that runs at this place without a row of its own.
 */
insertPass?: string
/**
 * Values for the inserted pass.
 */
params?: {
[k: string]: unknown
}
/**
 * Rule group that runs at this place without a row of its own.
 */
insertRules?: string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
before?: string
/**
 * A phase name, or name#n for the n-th occurrence.
 */
after?: string
/**
 * Reason, for the reviewer.
 */
why?: string
}
}

export namespace PhasesSpec {
/**
 * 0 to 5; the command line gives 0 to 4.
 */
export type Level = number
/**
 * Any value other than false and 0 closes the gate.
 */
export type KnobNames = string[]
/**
 * Unset, false or 0 closes the gate.
 */
export type KnobNames1 = string[]
/**
 * 0 closes the gate; unset and every other value leave it open.
 */
export type KnobNames2 = string[]
/**
 * Each run takes one unit of each; a spent budget closes the gate; an unset one has no limit.
 */
export type KnobNames3 = string[]
/**
 * Every knob that the phase may read, including those of its gate. Reading another is an error.
 */
export type KnobNames4 = string[]
/**
 * IR properties that must hold before it.
 */
export type PropertyNames = string[]
/**
 * IR properties that hold after it.
 */
export type PropertyNames1 = string[]
/**
 * IR properties that may not hold after it.
 */
export type PropertyNames2 = string[]

/**
 * The table of phases: one row for each phase of the pipeline, and one for each named worker that has no seed number. The table says what a phase is and what is bound to it; an order says when it runs.
 */
export interface Phases {
/**
 * Names this schema.
 */
kind: "phases"
/**
 * Vocabulary of 'requires', 'provides' and 'destroys': name -> what it promises.
 */
properties: {
[k: string]: IRProperty
}
/**
 * Names for lists of steps that several rows, or recipes, use: name -> steps.
 */
stepLists?: {
[k: string]: Step[]
}
/**
 * Rows by seed number; named workers follow.
 */
phases: Phase[]
}
/**
 * A property of the IR that holds from the phase that provides it to the phase that destroys it.
 */
export interface IRProperty {
/**
 * What is guaranteed about the IR while the property holds.
 */
means: string
/**
 * True if it already holds after the lowering of PTX. Default: false.
 */
initial?: boolean
}
/**
 * One of: a pass, rule groups, a named list of steps, repeated steps.
 */
export interface Step {
/**
 * A registered pass: the name of its file in src/passes without the ending.
 */
pass?: string
/**
 * Parameters for this binding; the pass declares which it has.
 */
params?: {
[k: string]: unknown
}
/**
 * Rule groups that are tried together as one set: by descending priority, then in the order given here.
 */
rules?: string[]
/**
 * Name of a list in `stepLists` of the phase table; all its steps run here.
 */
use?: string
/**
 * Steps that run in order, again and again, until none of them changes anything.
 */
repeat?: Step[]
/**
 * Maximum number of rounds. Absent: `roundsBy` has it.
 */
rounds?: number
/**
 * A knob: its value, or its default, is the maximum number of rounds in place of `rounds`; 0 or less, or neither of the three, repeats until nothing changes.
 */
roundsBy?: string
/**
 * A knob: rounds end once the changes of a round cost less than its value. `weights` gives the cost of a changed instruction; a cheap or removed one costs the value of the knob.
 */
leastCost?: string
weights?: Weights
}
/**
 * Costs of the instructions that a round changed.
 */
export interface Weights {
/**
 * Cost of an instruction that is not cheap.
 */
full: number
/**
 * Opcodes that are cheap if they copy.
 */
cheap: string[]
/**
 * A copy whose value has more uses than this is not cheap.
 */
"many-uses": number
}
/**
 * One row.
 */
export interface Phase {
/**
 * 0..158, or null for a named worker without one.
 */
index: (number | null)
/**
 * Position in the executed table of the compiler that this one is modelled on; a worker shares it with its slot.
 */
trueIndex: number
/**
 * Key in orders, constraints, recipes and on the command line. The second row of the same name has the id name#2.
 */
name: string
/**
 * Group 1 to 7 of the seeds' table. A named worker has the group of the rows beside it in the true order.
 */
stage: number
/**
 * Stage 1 to 10 of the newer grouping, where it is known.
 */
ocgStage?: number
/**
 * What kind of work it is.
 */
category: ("Optimization" | "Lowering" | "Analysis" | "Validation" | "Reporting" | "Cleanup" | "Scheduling" | "RegAlloc" | "Encoding" | "Hook")
/**
 * implemented: does what its purpose says. partial: 'note' says what is missing. marker: does nothing by itself. not-applicable: has no meaning for compute, Ori has its result from the start, or another phase does its work. unbound: nothing is bound yet.
 */
status: ("implemented" | "partial" | "marker" | "not-applicable" | "unbound")
/**
 * One short sentence.
 */
purpose: string
/**
 * What is missing (partial), why it has no meaning here (not-applicable), or what else a reader should know.
 */
note?: string
/**
 * Why the phase, by itself and with those that do the same, makes no test kernel better (src/passes/CONTRIBUTION.md).
 */
idle?: string
/**
 * What other sources say about the row, and which one is followed.
 */
conflict?: string
/**
 * What runs here, in order: passes and rule groups. Missing: nothing is bound.
 */
steps?: Step[]
gate?: Gate
knobs?: KnobNames4
/**
 * Other names of the phase for the knob DisablePhases.
 */
aliases?: string[]
/**
 * Budget knob: each rewrite by a rule takes one unit of it; once it is spent, the phase applies no rule.
 */
ruleBudget?: string
/**
 * Paths of back-end facts that the phase may read; a path covers everything below it.
 */
facts?: string[]
requires?: PropertyNames
provides?: PropertyNames1
destroys?: PropertyNames2
/**
 * One of the 16 hook points. A: dispatches a worker phase. B: calls a back-end slot. C: writes only the progress counter. A hook is a no-op until a recipe binds something to it.
 */
hook?: ("A" | "B" | "C")
/**
 * Name of the phase that a hook dispatches. It runs in place of the hook, or at its own place in an order that lists it, never at both.
 */
worker?: string
/**
 * Seed number of the slot whose worker this row is. The slot does the work; nothing is bound to the row of the worker, so that the work is done once.
 */
slot?: number
/**
 * Value that it writes to the progress counter.
 */
progress?: number
/**
 * isNoOp: execution is skipped, a record is still written. Binding something to the phase in a recipe clears it. Default: false.
 */
noOp?: boolean
/**
 * May not be disabled or dropped. Default: false.
 */
required?: boolean
/**
 * Where the row comes from.
 */
source: string
}
/**
 * When the phase runs. All parts must hold; a missing part always holds.
 */
export interface Gate {
/**
 * Levels at which it runs, compared with the effective level. Missing: all.
 */
levels?: Level[]
/**
 * The gate calls the level accessor and so spends one unit of OptBudget. Default: false.
 */
asksLevel?: boolean
only?: LevelsUnderAKnob
also?: LevelsThatAKnobAdds
unset?: KnobNames
set?: KnobNames1
nonzero?: KnobNames2
budget?: KnobNames3
/**
 * Facts of the back end that must hold.
 */
facts?: BackEndFact[]
/**
 * Parts that are tested before the others, in this order. Missing: levels, only, unset, set, nonzero, facts, budget.
 */
order?: ("levels" | "only" | "unset" | "set" | "nonzero" | "facts" | "budget")[]
}
/**
 * If the knob is set, the phase runs only at these levels, compared with the effective level.
 */
export interface LevelsUnderAKnob {
/**
 * Its name.
 */
knob: string
/**
 * The levels that are left.
 */
levels: Level[]
}
/**
 * If the knob has this value, the phase also runs at these levels, compared with the effective level.
 */
export interface LevelsThatAKnobAdds {
/**
 * Its name.
 */
knob: string
/**
 * Its value: a number, or true for a flag that is set.
 */
equals: (number | boolean)
/**
 * The levels that are added.
 */
levels: Level[]
}
/**
 * The phase runs only if this fact of the back end has this value.
 */
export interface BackEndFact {
/**
 * Path in the resolved back end, e.g. capabilities.uniform-registers.
 */
path: string
/**
 * The value it must have.
 */
equals: (boolean | number | string)
}
}

export namespace PtxSyntaxSpec {
/**
 * The forms that PTX instructions have; PTX input is checked against them.
 */
export interface PtxSyntax {
/**
 * Names this schema.
 */
kind: "ptx-syntax"
/**
 * PTX versions whose instructions and directives are known, oldest first, separated by blanks.
 */
versions: string
/**
 * PTX version -> the targets that it introduced, separated by blanks.
 */
targets: {
[k: string]: string
}
/**
 * Words that may follow the architecture in `.target`, separated by blanks.
 */
modes: string
/**
 * Opcodes that have no forms: their operands are not checked.
 */
unchecked: string
/**
 * Name -> modifiers or types, separated by blanks, for `$name` in forms.
 */
sets: {
[k: string]: string
}
/**
 * Modifier or type -> the first version and target that have it, in any form.
 */
words: {
[k: string]: string
}
/**
 * Directive -> the first version and target that have it.
 */
directives: {
[k: string]: string
}
/**
 * Opcode -> its forms. An opcode that is neither here nor in `unchecked` does not exist.
 */
instructions: {
/**
 * Each is WORDS : OPERANDS ; SINCE ; UNTIL.
 */
[k: string]: string[]
}
}
}

export namespace PtxSpec {
/**
 * The PTX text of each Ori opcode.
 */
export interface Ptx {
/**
 * Names this schema.
 */
kind: "ptx"
/**
 * Modifier group, or OPCODE.group -> PTX names of its values, if they are neither the type of the value nor its name in lower case.
 */
words: {
[k: string]: {
[k: string]: string
}
}
/**
 * PTX instruction, as opcode and the modifiers that matter -> the first PTX version and the number of the first target that have it. Only instructions that ordinary older code may turn into need a row.
 */
needs: {
[k: string]: {
/**
 * First PTX version that has it.
 */
version: string
/**
 * Number of the first target that has it: 30 for sm_30.
 */
sm: number
}
}
halves: Halves
/**
 * Opcode -> rows; the first that matches is used.
 */
opcodes: {
[k: string]: Row[]
}
lowering: Lowering
}
/**
 * Opcodes that may be written with 16-bit registers, in addition to operands of a 16-bit type.
 */
export interface Halves {
/**
 * Opcodes in which each half of the result depends on the same half of the operands.
 */
lanewise: string[]
/**
 * Opcodes that read only low halves -> the modifiers under which they do.
 */
low: {
[k: string]: {
[k: string]: string
}
}
/**
 * Opcodes whose result is a half, in addition to those with a result of a 16-bit type.
 */
results: string[]
/**
 * Opcodes that compute with halves; 16-bit registers pay off next to them.
 */
arithmetic: string[]
}
/**
 * One way to write an opcode: the instructions that it matches, and the lines, the builder, or the reason why there are none.
 */
export interface Row {
/**
 * Group -> the value, or values, that it must have; off for a flag that is not given.
 */
mods?: {
[k: string]: string | string[]
}
/**
 * Number of the first target that has the instruction: 90 for sm_90.
 */
from?: number
/**
 * Lowering uses the row too: the PTX instruction becomes this opcode.
 */
both?: true
/**
 * One item per source: its name, with its modifier (-a, |a|, ~a, !a), a number, PT, PF, CC, or name:bank.
 */
src?: string
/**
 * One item per destination: its name, _ for one that is discarded, CC for a carry that stays in CC.CF.
 */
dst?: string
/**
 * Lines of PTX: $a operands, {group} modifiers, %t %w %p %h temporaries of 32, 64, 1 and 16 bits. Empty: nothing is written.
 */
ptx?: string
/**
 * Why nothing is written.
 */
why?: string
/**
 * Written by code: logic functions, calls and carried instructions have no fixed text.
 */
by?: ("logic" | "logic-test" | "call" | "foreign")
/**
 * Why PTX cannot express this.
 */
none?: string
}
/**
 * PTX to Ori, for instructions that no row with `both` states.
 */
export interface Lowering {
/**
 * Name -> PTX modifiers or types, separated by spaces, of which an instruction has one.
 */
sets: {
[k: string]: string
}
/**
 * Set -> its word -> the Ori modifier or constant that stands for it, where it is not the same word in upper case.
 */
names: {
[k: string]: {
[k: string]: string
}
}
/**
 * Forms of instructions; the first that matches is used.
 */
rows: {
/**
 * Opcode, modifiers and operands of the PTX instruction.
 */
ptx: string
/**
 * The Ori instructions that it becomes, one in a line.
 */
ori: string
}[]
}
}

export namespace PtxasFaultsSpec {
/**
 * Known faults of ptxas: shapes that it miscompiles, the affected targets, and rules that rewrite the shapes.
 */
export interface PtxasFaults {
/**
 * Names this schema.
 */
kind: "ptxas-faults"
/**
 * One line for readers.
 */
title?: string
/**
 * One entry per fault.
 */
faults: Fault[]
}
/**
 * One fault: what ptxas miscompiles, on which targets and versions, and what avoids it.
 */
export interface Fault {
/**
 * Its name in warnings.
 */
name: string
/**
 * What is lost or added, in one line.
 */
title: string
ptxas: Ptxas
/**
 * Targets whose code is wrong, and their variants with a and f. 'all': every target that ptxas 13.0 has.
 */
targets: ("all" | string[])
/**
 * Values of ptxas -O at which it occurs.
 * 
 * Items: Value of -O.
 */
levels: number[]
/**
 * What the code does instead, as the rest of a sentence that starts with the name.
 */
wrong: string
/**
 * What the author of the code can write.
 */
instead: string
/**
 * Rules of group ptxas-faults: each finds a shape, by its match, and avoids it.
 * 
 * Items: Id of a rule.
 */
rules?: string[]
/**
 * Instructions that are always miscompiled; Orrery writes none of them. @: a guard; * any text; {a|b} one of two.
 * 
 * Items: Opcode with its modifiers, after @ if it needs a guard.
 */
forms?: string[]
/**
 * A launch of a small module that shows it, with the correct values; a path in this repository.
 */
input: string
/**
 * Public report, or who saw it.
 */
source: string
}
/**
 * Versions that have the fault.
 */
export interface Ptxas {
/**
 * Versions whose code was read and is wrong.
 * 
 * Items: As ptxas --version names it.
 */
seen: string[]
/**
 * Versions for which others report it.
 * 
 * Items: As the report names it.
 */
reported?: string[]
}
}

export namespace RecipeSpec {
/**
 * What one target, or one kind of kernel, does differently: level, knobs, hooks, phases. The command line overrides it.
 */
export interface Recipe {
/**
 * Names this schema.
 */
kind: "recipe"
/**
 * One line for readers.
 */
title?: string
/**
 * Recipe, or recipes, that this one extends, by name or by path relative to this file. They are applied first, in order; this recipe overrides them.
 */
extends?: (string | string[])
/**
 * Targets that it is meant for; on any other it is applied with a warning. Missing: all.
 * 
 * Items: sm_NN.
 */
sm?: string[]
/**
 * Optimization level, unless the command line names one.
 */
level?: number
/**
 * 0 to 5: which parts of recipes hold (`nvopt` of a part), those of the recipe 'nvopt-levels' among them. A higher one gets warning 8000, and only parts without levels hold.
 */
nvopt?: number
/**
 * Functions that the recipe is applied to: 0 none, 1 all, 2 kernels, 3 device functions, 4 those with a loop, 5 those without, 7 those for which no `when` holds. Missing: what the back end says, else 1.
 */
mode?: (0 | 1 | 2 | 3 | 4 | 5 | 7)
knobs?: Knobs
hooks?: Hooks
phases?: Phases
when?: When
measured?: Measured
/**
 * What applies only to some functions, targets or NvOpt levels. Applied after the rest, in order; a later one wins.
 */
parts?: Part[]
}
/**
 * Knob name or alias -> value.
 */
export interface Knobs {
/**
 * Of the type of the knob. Flag: true or false. Range: [lo, hi] or text lo..hi. List: integers. null: unset.
 */
[k: string]: null | boolean | number | string | number[]
}
/**
 * Hook phase -> what runs there, in order. It replaces what earlier recipes put there.
 */
export interface Hooks {
/**
 * Passes and rule groups.
 */
[k: string]: Step[]
}
/**
 * One of: a pass, rule groups, a named list of steps, what earlier recipes put there, repeated steps.
 */
export interface Step {
/**
 * A registered pass: the name of its file in src/passes without the ending.
 */
pass?: string
/**
 * Parameters for this binding; the pass declares which it has.
 */
params?: {
[k: string]: unknown
}
/**
 * Rule groups that are tried together as one set: by descending priority, then in the order given here.
 */
rules?: string[]
/**
 * Name of a list in `stepLists` of the phase table; all its steps run here.
 */
use?: string
/**
 * What would run in the hook without this recipe: from a recipe that it extends or that is applied before it, or from the back end.
 */
inherited?: true
/**
 * Steps that run in order, again and again, until none of them changes anything.
 */
repeat?: Step[]
/**
 * Maximum number of rounds.
 */
rounds?: number
}
/**
 * Phases that are switched.
 */
export interface Phases {
/**
 * Phases that do not run. A required phase cannot be disabled.
 * 
 * Items: A phase name, or name#n for the n-th occurrence.
 */
disable?: string[]
/**
 * Phases that run at every level: the level condition of the gate and a drop by the order are lifted. Knobs and target facts of the gate still apply.
 * 
 * Items: A phase name, or name#n for the n-th occurrence.
 */
enable?: string[]
}
/**
 * Functions that this applies to; all conditions must hold. Missing: all.
 */
export interface When {
/**
 * Pattern on the name of the function: * is any text, ? any one character.
 */
kernel?: string
/**
 * Hashes of functions before any phase; the function must have one of them: `orrery recipes FILE` prints them.
 * 
 * Items: 32 hexadecimal digits.
 */
hash?: string[]
}
/**
 * Metrics of kernels without it and with it, on the first of its targets: `orrery recipes --measure RECIPE` measures them again.
 */
export interface Measured {
/**
 * Version of ptxas that the values of ptxas are from.
 */
ptxas?: string
/**
 * Kernels and their metrics.
 */
kernels: Kernel[]
}
/**
 * One kernel.
 */
export interface Kernel {
/**
 * The NvOpt level with it. Missing: none is named.
 */
nvopt?: number
/**
 * PTX, relative to the recipe; in one that ships, relative to the folder of the project.
 */
file: string
/**
 * Name of the kernel in it.
 */
kernel: string
/**
 * Metric -> value without the recipe, and with it; also metrics of the module, such as phases-run. Only metrics that are the same in every run.
 */
values: {
/**
 * @minItems 2
 * @maxItems 2
 */
[k: string]: [number, number]
}
}
/**
 * Knobs, hooks and phases for some functions, targets or NvOpt levels.
 */
export interface Part {
/**
 * One line for readers.
 */
title?: string
when?: When
/**
 * Targets to which it applies; on others it is ignored. Missing: all.
 * 
 * Items: sm_NN.
 */
sm?: string[]
/**
 * Levels at which it applies. Missing: all, and if none is set.
 * 
 * Items: 0 to 5.
 */
nvopt?: number[]
/**
 * Optimization level, unless the command line names one.
 */
level?: number
knobs?: Knobs
hooks?: Hooks
phases?: Phases
}
}

export namespace ReviewsSpec {
/**
 * Arguments for rules that no solver proves in full, each reviewed by a person for exactly one text of the rule.
 */
export interface Reviews {
/**
 * Names this schema.
 */
kind: "reviews"
/**
 * One line for readers.
 */
title?: string
/**
 * One entry per such rule.
 */
reviews: Review[]
}
/**
 * One rule, and the argument for it.
 */
export interface Review {
/**
 * Its id.
 */
rule: string
/**
 * Hash of the rule as it was reviewed: its text, its tables and the meanings of its opcodes. `orrery rules prove --rule ID --json` prints it.
 */
hash: string
/**
 * Who reviewed it.
 */
by: string
/**
 * When, as YYYY-MM-DD.
 */
date: string
/**
 * Why both sides are equal for all values for which the rule applies, complete enough to be checked step by step.
 */
argument: string
/**
 * What was evaluated exhaustively in addition to the argument.
 */
checked?: string
}
}

export namespace RulesSpec {
/**
 * A group of rewrite rules over Ori. The group is bound to phases and hooks by its name.
 */
export interface Rules {
/**
 * Names this schema.
 */
kind: "rules"
/**
 * One line for readers.
 */
title?: string
/**
 * Name that phases, hooks and orders bind to.
 */
group: string
/**
 * Priority of the rules that state none; groups that run together are tried by descending priority.
 */
priority?: number
/**
 * Phases that may run the group. Missing: any.
 * 
 * Items: Phase name.
 */
owner?: string[]
/**
 * Condition of the whole group, on sm, level and knob(Name): the switch and the targets of its rules.
 */
when?: string
/**
 * Maps of modifier values, by name: '.swap(cmp)' in a rewrite puts the value that the table has for that of $cmp.
 */
tables?: {
/**
 * Value of a modifier -> value.
 */
[k: string]: {
[k: string]: string
}
}
/**
 * Tried by descending priority, then in the order of the file.
 */
rules: Rule[]
}
/**
 * One rewrite: what is matched, under which conditions, and what replaces it.
 */
export interface Rule {
/**
 * Unique among all rules.
 */
id: string
/**
 * The identity as algebra, for readers.
 */
title: string
/**
 * Ori instructions, one per line; $names are operands, #names constants, .$names modifiers. The last one is the root.
 */
match: string
/**
 * Condition: on constants in the language of the meanings, or on use counts, places, level, target and knobs; parts joined by &&.
 */
when?: string
/**
 * Ori instructions that replace the root.
 */
rewrite: string
/**
 * Phases that may run this rule. Missing: those of the group.
 * 
 * Items: Phase name.
 */
owner?: string[]
/**
 * Higher is tried first. Default: 0.
 */
priority?: number
/**
 * Saving in cycles that the lines do not show; a rule that states one is exempt from the comparison of costs.
 */
cost?: number
/**
 * Why the rule is correct if no solver decides it: covers NaN, signed zeros, rounding and flushing.
 */
holds?: string
/**
 * What an inexact rule changes: its group needs a switch ('when: knob(Name)'), or runs in a hook of a recipe or on request of the command line.
 */
inexact?: string
/**
 * Where the rule is from.
 */
source: string
}
}

export namespace SelectionSpec {
/**
 * The machine instructions that opcodes of Ori become. pipelines/selection/README.md describes the notation.
 */
export interface Selection {
/**
 * Names this schema.
 */
kind: "selection"
/**
 * What the rows are for.
 */
title: string
/**
 * Names of Ori's modifiers in machine code: modifier group, or OPCODE.group -> name of a value -> its name in machine code, '' for none. Other names are the same in both.
 */
words?: {
[k: string]: {
[k: string]: string
}
}
/**
 * Machine instructions whose operands a and b may be exchanged, where only one of them can be a number or a word of a constant bank.
 */
commutes?: string[]
/**
 * By opcode of Ori; the first row that fits is used.
 */
rows: {
[k: string]: {
/**
 * Modifier group or operand -> values of which one must hold, separated by |. Values of operands: 0 (the number zero), all (a number with all bits set), imm (a number), _ (missing or discarded), !neg (not negated).
 */
when?: {
[k: string]: string
}
/**
 * The machine instructions, in order.
 */
emit: (string | string[])
}[]
}
}
}

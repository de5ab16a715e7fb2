// What every pass is made of stands in `ir`, because plans, rules and the engine speak of knobs and passes without knowing one.
export type { KnobValue, Pass, PassContext, ProgramContext, ProgramPass, Remark } from '../ir/pass.ts';

/**
 * Known faults of ptxas in programs and in PTX text: where their shapes stand, and the text without them. The rules of group
 * `ptxas-faults` find a shape by their match and avoid it by their rewrite; forms are instructions that the PTX writer never uses.
 * `pipelines/ptxas-faults.yaml` says which code has which fault.
 */
import type { Diagnostic } from './ir/diagnostic.ts';
import { withFunctions } from './ir/edit.ts';
import type { Isa } from './ir/opcode.ts';
import type { Fn, Instr, Program } from './ir/program.ts';
import type { PtxModule, PtxStatement } from './ptx/ast.ts';
import { emitPtx } from './ptx/emit/index.ts';
import type { PtxTable } from './ptx/emit/table.ts';
import { lowerPtx } from './ptx/lower/index.ts';
import { parsePtx } from './ptx/parse.ts';
import { applyRules, RulesDiverge } from './rules/driver.ts';
import { byPrecedence } from './rules/engine.ts';
import { indexOfDoc, rulesOfDoc } from './rules/group.ts';
import { Matcher } from './rules/matcher.ts';
import type { SpecFile } from './spec/document.ts';
import type { Plan } from './spec/plan.ts';
import {
  FAULT_RULES,
  formMatcher,
  hasFault,
  KEEP_FAULTS,
  type PtxasFault,
  ptxasFaults,
  type Spelled,
} from './spec/ptxas-faults.ts';
import type { Specs } from './spec/specs.ts';

/** A shape of a program that ptxas gets wrong. */
export interface FaultSite {
  readonly fault: PtxasFault;
  /** What finds it: the id of a rule, or a form. */
  readonly rule: string;
  readonly fn: string;
  /** Of the PTX that the program was read from; 0: unknown. */
  readonly line: number;
}

/** Instructions of which a fault makes wrong code wherever they stand. */
interface FaultForm {
  readonly fault: PtxasFault;
  readonly form: string;
  readonly matches: (i: Spelled) => boolean;
}

/** Faults of ptxas for one target and level, ready to be looked for. */
export class KnownFaults {
  private readonly matcher: Matcher;
  private readonly ofRule: ReadonlyMap<string, PtxasFault>;
  private readonly forms: readonly FaultForm[];

  private constructor(
    matcher: Matcher,
    ofRule: ReadonlyMap<string, PtxasFault>,
    forms: readonly FaultForm[],
  ) {
    this.matcher = matcher;
    this.ofRule = ofRule;
    this.forms = forms;
  }

  /**
   * The faults that ptxas has; null where it has none.
   * @param sm target, as `sm_90`
   * @param level -O of ptxas
   * @throws DiagnosticError if rules of the group are faulty
   */
  static of(specs: Specs, isa: Isa, sm: string, level: number): KnownFaults | null {
    const group = specs.rules?.get(FAULT_RULES);
    const faults = ptxasFaults(specs.ptxasFaults).filter((f) => hasFault(f, sm, level));
    const ofRule = new Map(faults.flatMap((f) => (f.rules ?? []).map((id) => [id, f] as const)));
    const forms = faults.flatMap((fault) =>
      (fault.forms ?? []).map((form) => ({ fault, form, matches: formMatcher(form) })),
    );
    if (group === undefined || faults.length === 0) return null;
    const { data } = group;
    const rules = rulesOfDoc(data, isa, 'none').rules.filter((r) => ofRule.has(r.id));
    return new KnownFaults(
      new Matcher(byPrecedence(rules), [indexOfDoc(data, isa, 'none', automatonOf(group, isa))]),
      ofRule,
      forms,
    );
  }

  /**
   * Where shapes stand: those of the functions that have an Ori form, then the instructions of the PTX.
   *
   * @param module what the program was read from; null if it was not PTX
   */
  sitesIn(program: Program, module: PtxModule | null): FaultSite[] {
    return [...this.shapesIn(program), ...(module === null ? [] : this.formsIn(module))];
  }

  private formsIn(module: PtxModule): FaultSite[] {
    const sites: FaultSite[] = [];
    const visit = (fn: string, body: readonly PtxStatement[]): void => {
      for (const s of body) {
        if (s.kind === 'scope') visit(fn, s.body);
        if (s.kind !== 'instr') continue;
        const spelled = { text: [s.opcode, ...s.mods].join('.'), guarded: s.guard !== null };
        const found = this.forms.find((f) => f.matches(spelled));
        if (found === undefined) continue;
        sites.push({ fault: found.fault, rule: found.form, fn, line: s.span.line });
      }
    };
    for (const item of module.items) if (item.kind === 'function') visit(item.name, item.body ?? []);
    return sites;
  }

  private shapesIn(program: Program): FaultSite[] {
    return program.functions.flatMap((fn) => {
      // Several rules of a fault, and several orders of operands, may fit one instruction.
      const sites = new Map<Instr, FaultSite>();
      this.apply(fn, (id, ins) => {
        if (!sites.has(ins))
          sites.set(ins, {
            fault: this.ofRule.get(id)!,
            rule: id,
            fn: fn.name,
            line: program.locs[ins.loc]?.line ?? 0,
          });
        return false;
      });
      return [...sites.values()].sort((a, b) => a.line - b.line);
    });
  }

  /** A function of the same meaning without the shapes. */
  without(fn: Fn): Fn {
    return this.apply(fn, () => true);
  }

  private apply(fn: Fn, mayRewrite: (rule: string, ins: Instr) => boolean): Fn {
    return applyRules(fn, this.matcher, {
      level: 0,
      sm: 0,
      knob: () => null,
      mode: 'precedence',
      mayRewrite: (rule, _, ins) => mayRewrite(rule.id, ins),
    });
  }
}

/** The automaton that the build made of a group, where it is one for this instruction set. */
const automatonOf = ({ built, data }: SpecFile, isa: Isa) =>
  built?.data === data && built.rules?.wholeFor === isa.hash ? built.rules.automaton : null;

/** Whether PTX that is written for a plan avoids shapes that ptxas gets wrong. */
export const avoidsFaults = (plan: Pick<Plan, 'knobs'>): boolean => {
  const value = plan.knobs.get(KEEP_FAULTS)?.value ?? null;
  return value === null || value === false;
};

/** PTX without shapes that ptxas gets wrong. */
export interface Avoided {
  readonly text: string;
  /** Shapes that stood in the text as it was given, by its lines. */
  readonly found: readonly FaultSite[];
  /** Shapes that stand in the text that is returned, by its lines. */
  readonly left: readonly FaultSite[];
}

/** How PTX text is read and written. */
export interface TextHow {
  readonly isa: Isa;
  readonly table: PtxTable;
  /** Offset of kernel parameters in constant bank 0. */
  readonly paramBase: number;
  /** Target that the text is lowered for. */
  readonly sm: string;
}

const inLowered = ({ program, module }: ReturnType<typeof lowered>, faults: KnownFaults): FaultSite[] =>
  faults.sitesIn(program, module);

/** Where shapes stand in PTX; nothing where the text cannot be read. */
export const sitesInPtx = (text: string, faults: KnownFaults, how: Omit<TextHow, 'table'>): FaultSite[] =>
  inLowered(lowered(text, how), faults);

/**
 * PTX of the same meaning without the shapes. Only functions that hold one are written anew, the others are copied.
 * @param avoid false: the text stays as it is, and what is found is left
 */
export function avoidFaults(text: string, faults: KnownFaults, how: TextHow, avoid = true): Avoided {
  const { module, program } = lowered(text, how);
  const found = faults.sitesIn(program, module);
  if (found.length === 0 || !avoid) return { text, found, left: found };
  const concerned = new Set(found.map((s) => s.fn));
  const functions = program.functions.map((fn) => (concerned.has(fn.name) ? withoutOrSame(fn, faults) : fn));
  const keep = new Set(functions.flatMap((fn) => (concerned.has(fn.name) ? [] : [fn.name])));
  const { table, paramBase } = how;
  const made = emitPtx(withFunctions(program, functions), { table, paramBase, module, keep });
  if (made.diagnostics.some((d) => d.severity === 'error')) return { text, found, left: found };
  return { text: made.text, found, left: sitesInPtx(made.text, faults, how) };
}

/** A function without the shapes, or as it is where the rules reach their bound: what they leave is found and said. */
function withoutOrSame(fn: Fn, faults: KnownFaults): Fn {
  try {
    return faults.without(fn);
  } catch (e) {
    if (e instanceof RulesDiverge) return fn;
    throw e;
  }
}

function lowered(text: string, { isa, paramBase, sm }: Omit<TextHow, 'table'>) {
  const { module } = parsePtx(text, '', isa.declared);
  return { module, program: lowerPtx(module, { isa, paramBase, sm }).program };
}

/** What is said of shapes: that ptxas makes wrong code of them, why, and what to do. */
export const faultWarnings = (
  sites: readonly FaultSite[],
  file: string,
  text: string,
  more: readonly string[] = [],
): Diagnostic[] => {
  const lines = text.split('\n');
  return sites.map(({ fault, fn, line }) => {
    const code = lines[line - 1] ?? '';
    return {
      severity: 'warning',
      code: fault.name,
      message: `'${fn}': ptxas makes wrong code of this (${fault.name}): ${fault.title}`,
      file,
      line,
      column: line > 0 ? code.length - code.trimStart().length + 1 : 0,
      length: code.trim().length || 1,
      notes: [fault.wrong, fault.instead, ...more],
    };
  });
};

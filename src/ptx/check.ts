import { type Diagnostic, nearest } from '../ir/diagnostic.ts';
import type { PtxFunction, PtxModule, PtxOperand, PtxStatement, Span } from './ast.ts';

/** Names that a scope declares. */
interface Names {
  readonly registers: Set<string>;
  /** Prefix -> count of `%r<10>`. */
  readonly ranges: Map<string, number>;
  readonly symbols: Set<string>;
}

/**
 * Checks names in a parsed module: registers, labels and symbols that are used are declared, and declared once a scope.
 * Gives at most a hundred diagnostics.
 */
export function checkPtx(module: PtxModule): Diagnostic[] {
  const out: Diagnostic[] = [];
  const report = (span: Span, code: string, message: string, notes: readonly string[] = []) => {
    if (out.length < 100)
      out.push({
        severity: 'error',
        code,
        message,
        file: module.name,
        line: span.line,
        column: span.column,
        length: Math.max(1, Math.min(span.end - span.start, 60)),
        notes,
      });
  };
  const globals = new Set<string>();
  for (const item of module.items) {
    if (item.kind !== 'variable' && item.kind !== 'function') continue;
    globals.add(item.name);
  }
  for (const item of module.items)
    if (item.kind === 'function' && item.body !== null) checkFunction(item, globals, report);
  return out;
}

type Report = (span: Span, code: string, message: string, notes?: readonly string[]) => void;

function checkFunction(fn: PtxFunction, globals: ReadonlySet<string>, report: Report): void {
  const scopes: Names[] = [
    {
      registers: new Set(),
      ranges: new Map(),
      symbols: new Set([...fn.params, ...fn.returns].filter((p) => p.space !== 'reg').map((p) => p.name)),
    },
  ];
  for (const p of [...fn.params, ...fn.returns]) if (p.space === 'reg') scopes[0].registers.add(p.name);
  const known = (name: string): boolean => {
    const m = /^(.*?)(\d+)$/.exec(name);
    for (let i = scopes.length - 1; i >= 0; i--) {
      const s = scopes[i];
      if (s.registers.has(name) || s.symbols.has(name)) return true;
      if (m !== null)
        for (let cut = m[1].length; cut < name.length; cut++)
          if (Number(name.slice(cut)) < (s.ranges.get(name.slice(0, cut)) ?? 0)) return true;
    }
    return globals.has(name) || SPECIAL.test(name);
  };
  const use = (o: PtxOperand): void => {
    switch (o.kind) {
      case 'reg':
        if (!known(o.name)) undeclared(o.name, o.span);
        return;
      case 'sym':
        if (!known(o.name)) undeclared(o.name, o.span);
        return;
      case 'addr':
        if (o.base !== '' && !known(o.base)) undeclared(o.base, o.span);
        o.extra.forEach(use);
        return;
      case 'vector':
      case 'list':
        o.items.forEach(use);
        return;
      case 'pair':
        use(o.first);
        use(o.second);
        return;
    }
  };
  const undeclared = (name: string, span: Span) => {
    const all = scopes.flatMap((s) => [...s.registers, ...s.symbols]).concat([...globals]);
    const near = nearest(name, all);
    report(
      span,
      'ptx-undeclared',
      `'${name}' is not declared`,
      near.length > 0 ? [`did you mean '${near[0]}'?`] : [],
    );
  };
  const stack: { readonly body: readonly PtxStatement[]; at: number }[] = [];
  const open = (body: readonly PtxStatement[]) => {
    const names: Names = { registers: new Set(), ranges: new Map(), symbols: new Set() };
    for (const s of body)
      if (
        s.kind === 'label' ||
        s.kind === 'branchtargets' ||
        s.kind === 'calltargets' ||
        s.kind === 'callprototype'
      ) {
        if (names.symbols.has(s.name))
          report(s.span, 'ptx-redeclared', `label '${s.name}' is declared twice`);
        names.symbols.add(s.name);
      }
    scopes.push(names);
    stack.push({ body, at: 0 });
  };
  open(fn.body!);
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    const s = top.body[top.at++];
    if (s === undefined) {
      stack.pop();
      scopes.pop();
      continue;
    }
    const names = scopes[scopes.length - 1];
    if (s.kind === 'scope') open(s.body);
    else if (s.kind === 'variable') {
      if (names.registers.has(s.name) || names.symbols.has(s.name) || names.ranges.has(s.name))
        report(s.span, 'ptx-redeclared', `'${s.name}' is declared twice`);
      if (s.count > 0) names.ranges.set(s.name, s.count);
      else if (s.space === 'reg') names.registers.add(s.name);
      else names.symbols.add(s.name);
    } else if (s.kind === 'instr') {
      if (s.guard !== null && !known(s.guard.name)) undeclared(s.guard.name, s.span);
      s.operands.forEach(use);
    } else if (s.kind === 'branchtargets') {
      for (const l of s.labels) if (!known(l)) undeclared(l, s.span);
    }
  }
}

/** Special registers and predefined names (PTX ISA 9.0, chapter 10). */
const SPECIAL =
  /^(%(tid|ntid|ctaid|nctaid|clusterid|nclusterid|cluster_ctaid|cluster_nctaid)(\.[xyzw])?|%(laneid|warpid|nwarpid|smid|nsmid|gridid|is_explicit_cluster|cluster_ctarank|cluster_nctarank|lanemask_(eq|le|lt|ge|gt)|clock|clock_hi|clock64|pm\d+(_64)?|envreg\d+|globaltimer|globaltimer_lo|globaltimer_hi|reserved_smem_offset_\w+|total_smem_size|aggr_smem_size|dynamic_smem_size|current_graph_exec)|WARP_SZ)$/;

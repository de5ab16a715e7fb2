import { useEffect, useState } from 'preact/hooks';
import { fnIn, snapshotsOf } from '../model/tables.ts';
import type { Comparison, KernelComparison, MetricRow } from '../protocol.ts';
import { Cancelled, failureText } from './engine.ts';
import { Sides } from './listing.tsx';
import { NoEngine } from './no-engine.tsx';
import { baseline, differs, engineOf, live, type Picked, pin, run, select, source, tables } from './store.ts';
import { TableHead } from './table-head.tsx';
import { classes, grouped, plural } from './words.ts';

/** Two arms side by side: A as it was opened or pinned, B as it is now. */
export function Compare() {
  const [a, b] = [baseline.value, source.value];
  const [found, setFound] = useState<Comparison | string | null>(null);
  useEffect(() => {
    let here = true;
    setFound(null);
    if (live.value && a !== null && b !== null && differs.value)
      engineOf()
        .ask('compare', { a, b })
        .then((c) => {
          tables.add(c.rows);
          if (here) setFound(c);
        })
        .catch((e: unknown) => here && !(e instanceof Cancelled) && setFound(failureText(e)));
    return () => {
      here = false;
    };
  }, [a, b]);
  if (!live.value) return <NoEngine what="nothing can be changed and compared here" />;
  if (a === null || b === null || run.value === null) return <p class="empty">Open a kernel first.</p>;
  if (!differs.value)
    return (
      <div class="empty">
        <p>
          <b>Both arms are the same.</b>
        </p>
        <p>
          A is the plan as it was opened. Change the level, the order or the recipe above, drag a phase to
          another place, or set a knob under Knobs: B is what you make of it, and here stands what that does.
        </p>
      </div>
    );
  if (typeof found === 'string') return <p class="empty">{found}</p>;
  if (found === null) return <p class="empty">Comparing…</p>;
  return (
    <section class="compare page" aria-label="Comparison" tabIndex={0}>
      <div class="arms">
        <p>
          <b class="arm">A</b> -O{found.a.plan.level} {found.a.plan.sm}, order {found.a.plan.order}{' '}
          <span class="dim">plan {found.a.plan.hash}</span>
        </p>
        <p>
          <b class="arm">B</b> -O{found.b.plan.level} {found.b.plan.sm}, order {found.b.plan.order}{' '}
          <span class="dim">plan {found.b.plan.hash}</span>
        </p>
        <button type="button" onClick={() => void pin(b)}>
          Make B the new A
        </button>
      </div>
      <Differences rows={found.differences} />
      {found.kernels.length === 0 && <p class="empty">There is no kernel that both have.</p>}
      {found.kernels.map((k) => (
        <Kernel key={k.kernel} k={k} c={found} />
      ))}
    </section>
  );
}

/** Maximum number of listed differences. */
const MOST = 40;

const Differences = ({ rows }: { readonly rows: Comparison['differences'] }) =>
  rows.length === 0 ? (
    <p class="dim">The plans do the same; the kernel differs.</p>
  ) : (
    <table class="grid">
      <caption>In what the plans differ</caption>
      <TableHead columns={['what', 'name', 'A', 'B']} />
      <tbody>
        {rows.slice(0, MOST).map((d, i) => (
          <tr key={i}>
            <td>{d.kind}</td>
            <th scope="row">{d.name}</th>
            <td>{d.a}</td>
            <td>{d.b}</td>
          </tr>
        ))}
        {rows.length > MOST && (
          <tr>
            <td colSpan={4} class="dim">
              and {rows.length - MOST} more
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );

function Kernel({ k, c }: { readonly k: KernelComparison; readonly c: Comparison }) {
  const [code, setCode] = useState(false);
  const [all, setAll] = useState(false);
  const rows = k.metrics.filter((m) => all || m.verdict !== 'same');
  const helped = k.metrics.filter((m) => m.verdict === 'helped').length;
  const hurt = k.metrics.filter((m) => m.verdict === 'HURT').length;
  return (
    <div class="kernel">
      <h2>{k.kernel}</h2>
      <p class="verdicts">
        <span class="helped">{plural(helped, 'metric')} helped</span>
        <span class={hurt > 0 ? 'hurt' : 'dim'}>{hurt} HURT</span>
        <span class={k.equal.same ? 'helped' : 'hurt'}>
          {k.equal.same ? 'equal' : 'DIFFERENT'}: {k.equal.text}
        </span>
      </p>
      {k.first === null ? (
        <p class="dim">The code is the same after every phase.</p>
      ) : (
        <p>
          Differs first after{' '}
          <button
            type="button"
            class="link"
            onClick={() => select(run.value?.phases.findIndex((p) => p.id === k.first!.phase) ?? -1)}
          >
            {k.first.phase}
          </button>
          <span class="dim">
            {' '}
            A: {k.first.a} · B: {k.first.b}
            {k.first.because.length > 0 && ` · because ${k.first.because.join(', ')}`}
          </span>
        </p>
      )}
      {rows.length > 0 && (
        <table class="grid metrics">
          <TableHead columns={['metric', 'A', 'B', 'change', 'verdict']} numbers={['A', 'B', 'change']} />
          <tbody>
            {rows.map((m) => (
              <Metric key={m.name} m={m} />
            ))}
          </tbody>
        </table>
      )}
      <button type="button" class="plain" onClick={() => setAll(!all)}>
        {all ? 'only what differs' : 'all metrics'}
      </button>
      <button type="button" class="plain" aria-expanded={code} onClick={() => setCode(!code)}>
        {code ? 'without the code' : 'code of A and B'}
      </button>
      {code && <BothCodes k={k} c={c} />}
    </div>
  );
}

/** The results of both arms for a kernel, by instruction. */
function BothCodes({ k, c }: { readonly k: KernelComparison; readonly c: Comparison }) {
  const [at, setAt] = useState<Picked | null>(null);
  const [a, b] = [c.a, c.b].map((r) => fnIn(tables, snapshotsOf(r).at(-1) ?? [], k.kernel));
  const name = at?.register ?? '';
  return (
    <div class="both-codes">
      <Sides
        a={a}
        b={b}
        label={`Code of ${k.kernel} under A and B`}
        picked={at}
        names={[name, name]}
        onPick={(ins, _, register) => setAt({ snapshot: 0, ins, register, line: tables.ins[ins][1] })}
      />
    </div>
  );
}

const figure = (n: number): string =>
  Number.isInteger(n) ? grouped(n) : n.toLocaleString('en-US', { maximumFractionDigits: 1 });

const Metric = ({ m }: { readonly m: MetricRow }) => (
  <tr title={m.title}>
    <th scope="row">{m.name}</th>
    <td class="num">{figure(m.a)}</td>
    <td class="num">{figure(m.b)}</td>
    <td class="num">
      {m.a === 0 || m.a === m.b
        ? ''
        : `${m.b > m.a ? '+' : '−'}${Math.abs(((m.b - m.a) / m.a) * 100).toFixed(1)} %`}
    </td>
    <td
      class={classes(
        m.verdict === 'helped' && 'helped',
        m.verdict === 'HURT' && 'hurt',
        m.verdict === 'same' && 'dim',
      )}
    >
      {m.verdict}
    </td>
  </tr>
);

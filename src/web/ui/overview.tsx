import { changes } from '../model/pipeline.ts';
import type { PhaseRow, RunRow } from '../recording.ts';
import { select } from './store.ts';
import { TableHead } from './table-head.tsx';
import { classes, duration, grouped, plural, signed } from './words.ts';

/** Maximum number of phases that are named. */
const MOST = 8;

const effect = (p: PhaseRow): number => Math.abs(p.after - p.before);

/** The combined effect of all phases, and the phases with the largest share. */
export function Overview({ r }: { readonly r: RunRow }) {
  const changed = r.phases.filter(changes);
  const most = [...changed]
    .sort((a, b) => effect(b) - effect(a) || b.blocksChanged - a.blocksChanged)
    .slice(0, MOST);
  const ran = r.phases.filter((p) => p.ran).length;
  const time = r.phases.reduce((t, p) => t + p.ms, 0);
  const fired = r.phases.reduce((n, p) => n + p.hits.length, 0);
  return (
    <div class="card">
      <p>
        {ran} of {plural(r.phases.length, 'phase')} ran in {duration(time)}; {changed.length} changed
        something, {plural(fired, 'rewrite')} by {plural(r.rules.length, 'rule')}.{' '}
        <span class="dim">
          -O{r.plan.level} {r.plan.sm}, order {r.plan.order}, plan {r.plan.hash}
        </span>
      </p>
      {most.length > 0 && (
        <table class="grid">
          <caption>What did most</caption>
          <TableHead
            columns={['phase', 'instructions', 'change', 'blocks', 'rules fired', 'time', 'purpose']}
            numbers={['instructions', 'change', 'blocks', 'rules fired', 'time']}
          />
          <tbody>
            {most.map((p) => (
              <tr key={p.id}>
                <td>
                  <button type="button" class="link" onClick={() => select(p.position)}>
                    {p.id}
                  </button>
                </td>
                <td class="num">{grouped(p.after)}</td>
                <td class={classes('num', p.after < p.before && 'helped', p.after > p.before && 'hurt')}>
                  {signed(p.after - p.before)}
                </td>
                <td class="num">{p.blocksChanged}</td>
                <td class="num">{p.hits.length || ''}</td>
                <td class="num">{duration(p.ms)}</td>
                <td class="dim">{p.purpose}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {r.warnings.map((w) => (
        <p key={w} class="warning">
          {w}
        </p>
      ))}
    </div>
  );
}

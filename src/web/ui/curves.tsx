import type { PhaseRow } from '../recording.ts';
import { phase, select } from './store.ts';
import { duration, grouped } from './words.ts';

const [WIDTH, HEIGHT] = [300, 26];

interface Curve {
  readonly title: string;
  readonly values: readonly number[];
  readonly text: (v: number) => string;
  /** Whether to draw bars from zero, for values per phase; else a line of values after each phase. */
  readonly bars: boolean;
}

/** Instructions, register pressure and time over the phases, one curve each; a click selects the phase there. */
export function Curves({ phases }: { readonly phases: readonly PhaseRow[] }) {
  const curves: readonly Curve[] = [
    {
      title: 'Instructions',
      values: [phases[0]?.before ?? 0, ...phases.map((p) => p.after)],
      text: grouped,
      bars: false,
    },
    {
      title: 'Registers',
      values: [phases[0]?.pressure ?? 0, ...phases.map((p) => p.pressure)],
      text: grouped,
      bars: false,
    },
    { title: 'Time', values: [0, ...phases.map((p) => p.ms)], text: duration, bars: true },
  ];
  const at = phase.value + 1;
  return (
    <div class="curves">
      {curves.map((c) => (
        <Row key={c.title} {...c} at={at} />
      ))}
    </div>
  );
}

function Row({ title, values, text, bars, at }: Curve & { readonly at: number }) {
  const step = WIDTH / Math.max(1, values.length - 1);
  const low = bars ? 0 : Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const y = (v: number): number => HEIGHT - 2 - ((v - low) / span) * (HEIGHT - 4);
  const shown = at > 0 ? values[at] : bars ? values.reduce((t, v) => t + v, 0) : values[values.length - 1];
  const line = values.map((v, i) => `${i === 0 ? `M0 ${y(v)}` : `H${i * step}V${y(v)}`}`).join('');
  const pick = (e: MouseEvent & { readonly currentTarget: SVGElement }): void => {
    const box = e.currentTarget.getBoundingClientRect();
    const i = Math.round(((e.clientX - box.left) / box.width) * (values.length - 1)) - 1;
    select(Math.max(0, Math.min(values.length - 2, i)));
  };
  return (
    <div class="curve">
      <span class="name">{title}</span>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list of phases below is for the keyboard */}
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: from ${text(values[0])} to ${text(values[values.length - 1])}`}
        onClick={pick}
      >
        {bars ? (
          <path
            class="bars"
            d={values.map((v, i) => (v === 0 ? '' : `M${i * step} ${HEIGHT - 1}V${y(v)}`)).join('')}
          />
        ) : (
          <>
            <path class="area" d={`${line}V${HEIGHT}H0Z`} />
            <path class="line" d={line} />
          </>
        )}
        {at > 0 && <path class="at" d={`M${at * step} 0V${HEIGHT}`} />}
      </svg>
      <span class="value">{text(shown)}</span>
    </div>
  );
}

import { fnName, fnNames, left, live, type Pane, right, run, showAll, still } from './store.ts';

/** Possible contents of a pane. */
function options(): readonly (readonly [string, string])[] {
  const phases = run.value?.phases ?? [];
  const hasOutput = live.value || (still.value !== null && 'text' in still.value.output);
  return [
    ['ptx', 'PTX in'],
    ['0', 'as lowered'],
    ...phases.flatMap((p, i): [string, string][] =>
      p.program !== null || [left.value, right.value, phases.length].includes(i + 1)
        ? [[String(i + 1), i + 1 === phases.length ? 'result' : `${i} ${p.id}`]]
        : [],
    ),
    ...(hasOutput ? [['out', 'PTX out'] as const] : []),
  ];
}

const paneOf = (word: string): Pane => (word === 'ptx' || word === 'out' ? word : Number(word));

const Side = ({
  label,
  value,
  set,
}: {
  readonly label: string;
  readonly value: Pane;
  readonly set: (p: Pane) => void;
}) => (
  <label class="field">
    <span>{label}</span>
    <select
      aria-label={`${label} side: after`}
      value={String(value)}
      onChange={(e) => set(paneOf(e.currentTarget.value))}
    >
      {options().map(([v, text]) => (
        <option key={v} value={v}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

/** Selects the shown function. */
export const FnChoice = () =>
  fnNames.value.length < 2 ? null : (
    <label class="field">
      <span>Function</span>
      <select value={fnName.value} onChange={(e) => (fnName.value = e.currentTarget.value)}>
        {fnNames.value.map((n) => (
          <option key={n} value={n}>
            {n}
          </option>
        ))}
      </select>
    </label>
  );

/** Selects a single snapshot: the right one of the pair. */
export const SnapshotChoice = ({ label }: { readonly label: string }) => {
  const last = run.value?.phases.length ?? 0;
  return (
    <label class="field">
      <span>{label}</span>
      <select
        value={String(typeof right.value === 'number' ? right.value : last)}
        onChange={(e) => (right.value = Number(e.currentTarget.value))}
      >
        {options()
          .filter(([v]) => v !== 'ptx' && v !== 'out')
          .map(([v, text]) => (
            <option key={v} value={v}>
              {text}
            </option>
          ))}
      </select>
    </label>
  );
};

/** Selects the two snapshots that are shown side by side. */
export function PaneChoice() {
  const set = (a: Pane, b: Pane): void => {
    left.value = a;
    right.value = b;
  };
  return (
    <div class="pane-choice">
      <Side label="Left" value={left.value} set={(p) => set(p, right.value)} />
      <Side label="Right" value={right.value} set={(p) => set(left.value, p)} />
      <FnChoice />
      <div class="shortcuts">
        <button type="button" class="plain" onClick={showAll}>
          whole pipeline
        </button>
        <button type="button" class="plain" onClick={() => set('ptx', 'out')}>
          PTX in, PTX out
        </button>
      </div>
    </div>
  );
}

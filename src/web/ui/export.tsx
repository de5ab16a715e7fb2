import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { stringify } from 'yaml';
import { commandLine, commandOf, reproducerOf } from '../model/command.ts';
import { linkOf } from './link.ts';
import { save } from './save.ts';
import { about, launches, live, note, outputOf, run, still } from './store.ts';

const shown = signal(false);

async function copyLink(): Promise<void> {
  const link = await linkOf();
  history.replaceState(null, '', link);
  try {
    await navigator.clipboard.writeText(link);
    note.value = 'The link is copied. It holds the kernel and the plan itself; nothing was sent anywhere.';
  } catch {
    note.value = 'The address of this page is the link: copy it from there.';
  }
}

/** The changes of the page to the plan, as a recipe: knobs and disabled phases. An order is a separate file. */
function recipe(): string {
  const { plan, source: s } = run.value!;
  const knobs = Object.fromEntries(
    s.request.set.map((x) => {
      const [name, value] = [x.slice(0, x.indexOf('=')), x.slice(x.indexOf('=') + 1)];
      return [name, /^(true|false|-?\d+(\.\d+)?)$/.test(value) ? JSON.parse(value) : value];
    }),
  );
  const phases = Object.fromEntries(s.request.disable.map((p) => [p, 'off']));
  return stringify({
    kind: 'recipe',
    title: 'made in the explorer',
    sm: [plan.sm],
    level: plan.level,
    ...(Object.keys(knobs).length > 0 ? { knobs } : {}),
    ...(Object.keys(phases).length > 0 ? { phases } : {}),
  });
}

/** Links and files that carry what is shown elsewhere. */
export function Exports() {
  const r = run.value;
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const outside = (e: Event): void => {
      if (!e.composedPath().includes(menu.current!)) shown.value = false;
    };
    addEventListener('pointerdown', outside);
    return () => removeEventListener('pointerdown', outside);
  }, []);
  if (r === null) return null;
  const s = r.source;
  const stem = s.file.replace(/^.*[\\/]/, '').replace(/\.\w+$/, '');
  const items: readonly (readonly [string, () => void | Promise<void>])[] = [
    ['Copy link', copyLink],
    [
      'Copy command line',
      async () => {
        const line = commandLine(commandOf(s));
        note.value = line;
        await navigator.clipboard.writeText(line).catch(() => undefined);
      },
    ],
    ['Kernel (.ptx)', () => save(s.file.replace(/^.*[\\/]/, ''), s.text)],
    [
      'Optimized PTX',
      async () => {
        const out = await outputOf(s);
        if ('text' in out) save(`${stem}.opt.ptx`, out.text);
        else note.value = out.fault;
      },
    ],
    ...(live.value
      ? [['Knobs and phases as a recipe', () => save(`${stem}-recipe.yaml`, recipe())] as const]
      : []),
    ...Object.entries(s.documents).map(([name, text]) => [`${name}`, () => save(name, text)] as const),
    ...launches.value.map(({ name, text }) => [`Launch ${name}`, () => save(name, text)] as const),
    [
      'Reproducer (.json)',
      () =>
        save(
          `${stem}.repro.json`,
          `${JSON.stringify(reproducerOf(r, about.value?.version ?? still.value?.orrery ?? ''), null, 2)}\n`,
          'application/json',
        ),
    ],
  ];
  return (
    <div ref={menu} class="menu">
      <button
        type="button"
        aria-expanded={shown.value}
        aria-haspopup="true"
        onClick={() => {
          shown.value = !shown.value;
        }}
      >
        Share
      </button>
      {shown.value && (
        <ul
          onKeyDown={(e) => {
            if (e.key === 'Escape') shown.value = false;
          }}
        >
          {items.map(([text, act]) => (
            <li key={text}>
              <button
                type="button"
                onClick={() => {
                  shown.value = false;
                  void act();
                }}
              >
                {text}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

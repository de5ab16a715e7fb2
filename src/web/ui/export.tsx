import { signal } from '@preact/signals';
import { stringify } from 'yaml';
import { linkOf } from './link.ts';
import { launches, live, note, outputOf, run, source } from './store.ts';

const shown = signal(false);

function save(name: string, text: string, type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

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

/** The command that does the same. */
function commandLine(): string {
  const s = source.value!;
  const q = (t: string): string => (/^[\w./=:@+-]+$/.test(t) ? t : `'${t.replaceAll("'", "'\\''")}'`);
  const { request } = s;
  return [
    'orrery opt',
    q(s.file),
    ...(request.level === null ? [] : [`-O${request.level}`]),
    ...(request.sm === null ? [] : [`--sm ${request.sm}`]),
    ...(request.order === 'binary' ? [] : [`--order ${q(request.order)}`]),
    ...request.recipes.map((r) => `--recipe ${q(r)}`),
    ...request.knobSets.map((k) => `--knobs ${q(k)}`),
    ...request.set.map((k) => `--set ${q(k)}`),
    ...request.disable.map((p) => `--disable ${q(p)}`),
    ...request.rules.map((g) => `--rules ${q(g)}`),
  ].join(' ');
}

/** What the page does to the plan, as a recipe: knobs and phases that are off. An order is a file of its own. */
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

/** Link and files: everything that takes what is shown elsewhere. */
export function Exports() {
  const r = run.value;
  if (r === null) return null;
  const s = r.source;
  const stem = s.file.replace(/^.*[\\/]/, '').replace(/\.\w+$/, '');
  const items: readonly (readonly [string, () => void | Promise<void>])[] = [
    ['Copy link', copyLink],
    [
      'Copy command line',
      async () =>
        void (await navigator.clipboard.writeText(commandLine()).then(() => (note.value = commandLine()))),
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
          `${stem}.explorer.json`,
          `${JSON.stringify({ command: commandLine(), plan: r.plan, ...s }, null, 2)}\n`,
          'application/json',
        ),
    ],
  ];
  return (
    <div class="menu">
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

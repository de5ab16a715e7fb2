import { useEffect, useState } from 'preact/hooks';
import type { MachineCode } from '../machine-code.ts';
import type { Source } from '../recording.ts';
import { Cancelled, failureText } from './engine.ts';
import { engineOf, origin, ptxasOf, run, still } from './store.ts';

/** Machine code, why it cannot be had, or null while it is made. */
type Made = MachineCode | string | null;

/** What is made of a source, from when it is first shown. */
function useMade(s: Source | null, make: (s: Source) => Promise<Made>, key: unknown): Made {
  const [made, setMade] = useState<{ readonly of: Source | null; readonly code: Made }>({
    of: null,
    code: null,
  });
  useEffect(() => {
    let here = true;
    if (s !== null)
      make(s)
        .then((code) => here && setMade({ of: s, code }))
        .catch((e: unknown) => here && !(e instanceof Cancelled) && setMade({ of: s, code: failureText(e) }));
    return () => {
      here = false;
    };
  }, [s, key]);
  return made.of === s ? made.code : null;
}

/** Machine code of a source by our own code generation. */
export const useMachine = (s: Source | null): Made =>
  useMade(
    s,
    async (of) => {
      const recorded = still.value;
      if (recorded === null) return engineOf().ask('machine', of);
      return recorded.machine ?? 'The recording has no machine code.';
    },
    still.value,
  );

/** Machine code by ptxas, which the server runs over files that it shows. */
export const usePtxas = (s: Source | null): Made => {
  const plan = run.value?.plan;
  const address =
    ptxasOf.value && plan !== undefined && origin.value !== null
      ? `ptxas/${origin.value.path}/${plan.sm}/${Math.min(4, plan.level)}.json`
      : null;
  return useMade(
    s,
    async (of) => {
      if (address === null || origin.value?.text !== of.text)
        return 'ptxas compiles files as they are on disk, and this text was changed or opened here.';
      const r = await fetch(address);
      return r.ok ? ((await r.json()) as MachineCode) : `The server did not compile it: ${await r.text()}`;
    },
    address,
  );
};

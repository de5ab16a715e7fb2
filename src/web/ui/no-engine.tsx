import { commandLine } from '../model/command.ts';
import { pack } from './pack.ts';
import { still } from './store.ts';

/** The site that a recording names, if it is one that a link may lead to. */
const siteOf = (): string | null => {
  const site = still.value?.site ?? '';
  return /^https?:\/\//.test(site) ? site : null;
};

/** Opens what a recording shows on the site that it names, which has an engine. */
async function openOnSite(site: string): Promise<void> {
  const word = await pack({ source: still.value!.run.source, view: 'code' });
  window.open(`${site}#${word}`, '_blank', 'noopener');
}

/** Leads from a recording to the same kernel and plan on a site with an engine; nothing if the recording names none. */
export function OnSite() {
  const site = siteOf();
  return site === null ? null : (
    <button
      type="button"
      title={`Opens ${site}, which runs the engine in the browser`}
      onClick={() => void openOnSite(site)}
    >
      Change it on the site
    </button>
  );
}

/** Says that a recording has no engine, and where there is one. */
export const NoEngine = ({ what }: { readonly what: string }) => {
  const file = still.value?.run.source.file ?? 'FILE';
  return (
    <div class="empty">
      <p>
        <b>This file is a recording: it has no engine, so {what}.</b>
      </p>
      <p>
        <code>{commandLine(['explore', file])}</code> can{siteOf() === null ? '.' : ', and so can the site:'}
      </p>
      <OnSite />
    </div>
  );
};

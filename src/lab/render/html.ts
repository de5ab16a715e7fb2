import { html } from '../../ir/quote.ts';

/** Styles shared by all pages, for light and dark mode. */
const STYLE = `
:root {
  color-scheme: light dark;
  --text: #1c1c1c; --dim: #5f5f5f; --line: #ddd; --page: #fff; --panel: #f6f6f6; --good: #146c2e; --bad: #b3261e; --mark: #1a5fb4;
  --helped: #2e9e4f; --hurt: #d0453b; --same: #8a8a8a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6e6e6; --dim: #a4a4a4; --line: #3a3a3a; --page: #161616; --panel: #222; --good: #7fd992; --bad: #ff8a80; --mark: #8ab8ff;
    --helped: #4cc070; --hurt: #f0685e; --same: #8f8f8f;
  }
}
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
body { color: var(--text); background: var(--page); }
code, p, li, h1, h2, figcaption { overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: right; padding: .15rem .7rem; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
.status { font-weight: 600; font-size: 1.1rem; overflow-wrap: anywhere; }
.bad { color: var(--bad); } .good { color: var(--good); } .dim { color: var(--dim); }
.scroll { overflow-x: auto; }
pre { overflow-x: auto; background: var(--panel); padding: .7rem; font-size: 13px; }
svg text { font: 12px system-ui, sans-serif; fill: var(--text); }`;

/**
 * A self-contained HTML page, which loads nothing else.
 *
 * @param title plain text
 * @param style additional CSS
 * @param body HTML
 */
export const page = (title: string, style: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)}</title><style>${STYLE}${style}</style></head><body>
${body}
</body></html>
`;

/** The last line of a page: the programs, plans and command that its figures come from. */
export const madeBy = (makers: readonly string[]): string =>
  makers.length === 0 ? '' : `<p class="dim">${makers.map(html).join('<br>')}</p>`;

// Keeps one comment of a pull request up to date: finds it by its first line, else writes it.
//
// COMMENT: file with the text. PULL_REQUEST: its number; empty: nothing is written. TOKEN, and what GitHub sets: GITHUB_API_URL,
// GITHUB_REPOSITORY.
import { readFileSync } from 'node:fs';

const MARKER = '<!-- orrery-review -->';
/** Characters that the API takes in the body of a comment: 65,536 (its error says so), less room for what is added. */
const MOST = 65_000;
const PAGE = 100;

const { COMMENT, PULL_REQUEST, TOKEN, GITHUB_API_URL = 'https://api.github.com', GITHUB_REPOSITORY } = process.env;

async function call(method, path, body) {
  const r = await fetch(`${GITHUB_API_URL}${path}`, {
    method,
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${TOKEN}`,
      'x-github-api-version': '2022-11-28',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await r.text();
  return { status: r.status, ok: r.ok, data: r.ok && text !== '' ? JSON.parse(text) : text };
}

/** Ends with a message; a token that may not write is no fault of the change (pull requests of forks have such tokens). */
function refuse(what, r) {
  const said = `${what}: ${GITHUB_API_URL} answers ${r.status}`;
  const readOnly = r.status === 401 || r.status === 403;
  console.log(
    readOnly
      ? `::warning title=no comment::${said}; the token needs pull-requests: write. The review is in the summary of the run.`
      : `::error title=no comment::${said}`,
  );
  process.exit(readOnly ? 0 : 1);
}

/**
 * Whether a comment is by whoever the token is of: others may begin theirs as ours, and what they wrote they can change again. A token of
 * a workflow or an app may not ask who it is, and writes as a bot.
 */
async function authorship() {
  const r = await call('GET', '/user');
  return r.ok ? (c) => c.user?.login === r.data.login : (c) => c.user?.type === 'Bot';
}

async function main() {
  if (!PULL_REQUEST) return;
  const repository = `/repos/${GITHUB_REPOSITORY}`;
  const text = readFileSync(COMMENT, 'utf8');
  const whole = `${MARKER}\n${text}`;
  const body =
    whole.length <= MOST
      ? whole
      : `${whole.slice(0, whole.lastIndexOf('\n', MOST))}\n\n**Cut here: the whole is in the summary of the run.**\n`;
  const isOurs = await authorship();
  const own = [];
  for (let page = 1; ; page++) {
    const r = await call('GET', `${repository}/issues/${PULL_REQUEST}/comments?per_page=${PAGE}&page=${page}`);
    if (!r.ok) refuse('the comments cannot be listed', r);
    own.push(...r.data.filter((c) => c.body?.startsWith(MARKER) && isOurs(c)));
    if (r.data.length < PAGE) break;
  }
  for (const c of own) {
    const r = await call('PATCH', `${repository}/issues/comments/${c.id}`, { body });
    if (r.ok) return;
    // One that has just been deleted, or is by another bot.
    if (r.status !== 403 && r.status !== 404) refuse('the comment cannot be updated', r);
  }
  const r = await call('POST', `${repository}/issues/${PULL_REQUEST}/comments`, { body });
  if (!r.ok) refuse('the comment cannot be written', r);
}

await main().catch((e) => {
  console.log(`::error title=no comment::${GITHUB_API_URL} cannot be reached: ${e.cause?.message ?? e.message}`);
  process.exit(1);
});

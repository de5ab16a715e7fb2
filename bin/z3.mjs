#!/usr/bin/env node
// The solver of the npm package z3-solver behind the interface of a solver's binary: SMT-LIB on standard input, answers on
// standard output. A process of its own can be ended from outside, which the package's threads do not always obey.
let init;
try {
  ({ init } = await import('z3-solver'));
} catch {
  console.error('z3-solver is not installed');
  process.exit(3);
}
const { Z3, em } = await init();
let context = Z3.mk_context(Z3.mk_config());

/**
 * A new context for `(reset)`: the old one keeps its terms after that command, and their numbers decide the order in
 * which the solver looks at later ones. So an answer, and the steps to it, depend on nothing that was asked before.
 */
function renew() {
  Z3.del_context(context);
  context = Z3.mk_context(Z3.mk_config());
}

/**
 * Carries out commands. The package's own call passes its text on a stack that is taken down while another thread still
 * reads it, so the text is put on the heap here.
 */
async function run(commands) {
  const bytes = new TextEncoder().encode(`${commands}\0`);
  const at = em._malloc(bytes.length);
  em.HEAPU8.set(bytes, at);
  try {
    return await em.async_call(em._async_Z3_eval_smtlib2_string, context, at);
  } finally {
    em._free(at);
  }
}

/** Length of the longest part of the text that is whole commands. */
function whole(text) {
  let depth = 0;
  let end = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') i = text.indexOf('"', i + 1);
    else if (c === '(') depth++;
    else if (c === ')' && --depth === 0) end = i + 1;
    if (i < 0) return end;
  }
  return end;
}

let rest = '';
process.stdin.setEncoding('utf8');
for await (const chunk of process.stdin) {
  rest += chunk;
  const end = whole(rest);
  if (end === 0) continue;
  const commands = rest.slice(0, end);
  rest = rest.slice(end);
  try {
    const parts = commands.split(/^\(reset\)$/m);
    for (const [i, part] of parts.entries()) {
      if (i > 0) renew();
      if (part.trim() !== '') process.stdout.write(await run(part));
    }
  } catch {
    // What has run out of memory answers nothing any more; whoever asks starts another.
    process.exit(4);
  }
}
process.exit(0);

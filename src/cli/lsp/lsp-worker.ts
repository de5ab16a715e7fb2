import { serveJobs } from '../../lsp/work/background.ts';
import { checkOne } from '../check/check.ts';
import { CliExit } from '../terminal/ui.ts';

/** Serves jobs of the language server in this thread. */
export const serveLsp = (): void =>
  serveJobs(async (path) => {
    try {
      return await checkOne(path);
    } catch (e) {
      // The fault was printed, as for a command; the quick check has it too.
      if (e instanceof CliExit) return [];
      throw e;
    }
  });

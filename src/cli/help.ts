import { type Command, Help } from 'commander';

/** Columns of a term that has its description beside it; that of a longer one begins below it. */
const BESIDE = 30;

/** How help is laid out: one long option leaves the descriptions of the others their room. */
export const HELP_LAYOUT = {
  padWidth: (command: Command, helper: Help): number =>
    Math.min(BESIDE, Help.prototype.padWidth.call(helper, command, helper)),

  formatItem(term: string, termWidth: number, description: string, helper: Help): string {
    const item = (text: string): string =>
      Help.prototype.formatItem.call(helper, text, termWidth, description, helper);
    return helper.displayWidth(term) <= termWidth || description === ''
      ? item(term)
      : `  ${term}\n${item('')}`;
  },
};

import { type Command, Help } from 'commander';

/** Width of the column of terms; the description of a longer term starts below it. */
const BESIDE = 30;

/** Layout of help: one long option does not narrow the descriptions of the others. */
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

import { beforeEachCommand } from '../command-state.ts';
import { printableLine } from './colours.ts';
import { clipped, columnsOf, duration } from './ui.ts';

/** Minimum time between two updates on a terminal, in ms. */
const PAUSE = 100;
/** Time until the first line in a log, in ms. */
const LOG_FIRST = 2_500;
/**
 * Least and most time between two lines in a log, in ms; between these, a line follows when the command has run twice as long as at the
 * last one, so that a log shows at once that something runs, and that of an hour stays short.
 */
const LOG_PAUSE = [5_000, 60_000] as const;
/** Share of the work after which the remaining time is shown: the first part is slow, because code is still being compiled. */
const FIRST_SHARE = 0.05;
/** Columns of the bar. */
const BAR = 20;

/**
 * The clock of a command, shared by all displays of its progress: parts of the work have a display of their own, and with separate clocks
 * times in one log would run backward. Null before the first display.
 */
let clock: { readonly start: number; due: number; timer: NodeJS.Timeout | undefined } | null = null;
beforeEachCommand(() => {
  clearTimeout(clock?.timer);
  clock = null;
});

/**
 * Progress of a long command on standard error: on a terminal one line that is updated at most ten times a second; in a log a line after
 * 2.5 seconds and then ever fewer, so that short commands print nothing there. With ORRERY_PROGRESS=off a log gets none.
 */
export class Progress {
  private readonly start = Date.now();
  private readonly clock = (clock ??=
    {
      start: this.start,
      due: this.start + LOG_FIRST,
      timer: undefined,
    });
  private last = 0;
  private told: readonly [line: string, logLine: string] = ['', ''];
  private shown = false;
  private waiting: NodeJS.Timeout | undefined;
  private readonly terminal = process.stderr.isTTY === true;

  /** Shows the current activity. */
  update(text: string): void {
    this.told = [`${text}: `, `${text}: `];
    this.say(text, text);
  }

  /**
   * Shows the progress: a bar and the remaining time.
   *
   * @param text current activity
   * @param before part of the work that an earlier run did, which does not count for the pace
   */
  of(done: number, total: number, text: string, before = 0): void {
    const left = this.left(done - before, total - before);
    const time = left === null ? '' : `, ${left} left`;
    const full = total === 0 ? BAR : Math.floor((BAR * done) / total);
    const counts = `${done} of ${total}${time}: `;
    this.told = [`[${'='.repeat(full)}${' '.repeat(BAR - full)}] ${counts}`, counts];
    this.detail(text);
  }

  /** Shows the last progress again, with another text for what is going on. */
  detail(text: string): void {
    const [line, logLine] = this.told;
    this.say(line + text, logLine + text);
  }

  /** Ends the display: the line on the terminal is removed. */
  done(): void {
    clearTimeout(this.waiting);
    clearTimeout(this.clock.timer);
    if (this.shown) process.stderr.write('\r\u001b[K');
    this.shown = false;
  }

  /** The remaining time at the current pace; null if it cannot be estimated yet. */
  private left(done: number, total: number): string | null {
    if (done === 0 || done < FIRST_SHARE * total || done >= total) return null;
    const ms = ((Date.now() - this.start) / done) * (total - done);
    const seconds = Math.ceil(ms / 1000);
    return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }

  private say(line: string, logLine: string): void {
    if (!this.terminal) return this.log(logLine);
    clearTimeout(this.waiting);
    const pause = this.last + PAUSE - Date.now();
    if (pause <= 0) this.write(line);
    // An early update is shown later, if nothing follows: it may be the one that takes long.
    else this.waiting = setTimeout(() => this.write(line), pause).unref();
  }

  /** Writes to the log itself: what a task prints is kept until it ends. */
  private log(line: string): void {
    const now = Date.now();
    clearTimeout(this.clock.timer);
    if (now >= this.clock.due && process.env.ORRERY_PROGRESS !== 'off') {
      const [least, most] = LOG_PAUSE;
      this.clock.due = now + Math.min(most, Math.max(least, now - this.clock.start));
      process.stderr.write(`${printableLine(`${duration(now - this.clock.start)}: ${line}`)}\n`);
    }
    // What takes long may say nothing more.
    this.clock.timer = setTimeout(() => this.log(line), this.clock.due - now).unref();
  }

  private write(text: string): void {
    this.last = Date.now();
    this.shown = true;
    process.stderr.write(`\r\u001b[K${clipped(printableLine(text), columnsOf(process.stderr) - 1)}`);
  }
}

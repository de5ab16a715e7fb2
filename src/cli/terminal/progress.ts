import { printableLine } from './colours.ts';
import { clipped, columnsOf, duration, err } from './ui.ts';

/** Minimum time between two updates on a terminal, in ms. */
const PAUSE = 100;
/** Time between two lines in a log, in ms. */
const LOG_PAUSE = 60_000;
/** Share of the work after which the remaining time is shown: the first part is slow, because code is still being compiled. */
const FIRST_SHARE = 0.05;
/** Columns of the bar. */
const BAR = 20;

/**
 * Progress of a long command on standard error: on a terminal one line that is updated at most ten times a second; in a log one line a
 * minute, so that short commands print nothing there.
 */
export class Progress {
  private readonly start = Date.now();
  private last = 0;
  private logged = this.start;
  private shown = false;
  private waiting: NodeJS.Timeout | undefined;
  private readonly terminal = process.stderr.isTTY === true;

  /** Shows the current activity. */
  update(text: string): void {
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
    this.say(
      `[${'='.repeat(full)}${' '.repeat(BAR - full)}] ${done} of ${total}${time}: ${text}`,
      `${done} of ${total}${time}: ${text}`,
    );
  }

  /** Ends the display: the line on the terminal is removed. */
  done(): void {
    clearTimeout(this.waiting);
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

  private log(line: string): void {
    const now = Date.now();
    if (now - this.logged < LOG_PAUSE) return;
    this.logged = now;
    err(`${duration(now - this.start)}: ${line}`);
  }

  private write(text: string): void {
    this.last = Date.now();
    this.shown = true;
    process.stderr.write(`\r\u001b[K${clipped(printableLine(text), columnsOf(process.stderr) - 1)}`);
  }
}

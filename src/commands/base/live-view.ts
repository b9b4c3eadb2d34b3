/** A text that is shown repeatedly, in place on a terminal, until it is the last or the user ends it. */
import { pause } from '../../base/backoff.ts';
import type { Clock } from '../../base/seams.ts';
import { visibleStyled } from '../../base/visible.ts';
import { columnsOf, cut } from './fit.ts';

export interface Frame {
  readonly text: string;
  /** The text will not change from now on. */
  readonly isLast: boolean;
}

export interface LiveViewOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Aborts when the user interrupts the command. */
  readonly signal: AbortSignal;
  readonly look: () => Promise<Frame>;
  /** Line after line on a terminal, too: JSON. */
  readonly isInLines: boolean;
}

/** How it ended: with the last frame, or with its reader; or the user ended it. */
export type LiveEnd = 'over' | 'interrupted';

/** Aborts when the reader of stdout closes the pipe. */
export function readerGone(): AbortSignal {
  const gone = new AbortController();
  process.stdout.once('error', () => gone.abort());
  return gone.signal;
}

/** What was shown last stays on the terminal. */
export async function showLive(options: LiveViewOptions): Promise<LiveEnd> {
  const { stdout } = process;
  const gone = readerGone();
  const signal = AbortSignal.any([options.signal, gone]);
  if (!stdout.isTTY || options.isInLines) {
    const end = await follow({ ...options, signal }, (text) => void stdout.write(`${visibleStyled(text)}\n`));
    return gone.aborted ? 'over' : end;
  }
  const screen = new OtherScreen();
  let last = '';
  try {
    screen.enter();
    return await follow({ ...options, signal: AbortSignal.any([signal, screen.quit]) }, (text) => {
      last = visibleStyled(text);
      screen.show(last);
    });
  } finally {
    screen.leave();
    if (last !== '') stdout.write(`${last}\n`);
  }
}

async function follow(options: LiveViewOptions, show: (text: string) => void): Promise<LiveEnd> {
  const { clock, intervalMs, signal, look } = options;
  for (;;) {
    const { text, isLast } = await look();
    if (signal.aborted) return 'interrupted';
    show(text);
    if (isLast) return 'over';
    await pause(clock, intervalMs, signal);
    if (signal.aborted) return 'interrupted';
  }
}

/** Switches to the terminal's second screen with the cursor hidden, and back. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const END_OF_LINE = '\u001b[K';
const END_OF_SCREEN = '\u001b[J';
const CTRL_C = '\u0003';
const CTRL_Z = '\u001a';

class OtherScreen {
  readonly #quit = new AbortController();
  #isEntered = false;

  /** Aborts when the user types q. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  enter(): void {
    this.#isEntered = true;
    // However this process ends.
    process.once('exit', this.#restore);
    process.once('SIGCONT', this.#again);
    this.#setUp();
  }

  /** Shows as many lines as fit on the terminal. */
  show(text: string): void {
    const { stdout } = process;
    const lines = text.split('\n').slice(0, Math.max(1, (stdout.rows || 24) - 1));
    const shown = lines.map((line) => `${cut(line, columnsOf(stdout))}${END_OF_LINE}\n`);
    stdout.write(`${HOME}${shown.join('')}${END_OF_SCREEN}`);
  }

  leave(): void {
    process.off('exit', this.#restore);
    process.off('SIGCONT', this.#again);
    this.#restore();
    this.#isEntered = false;
  }

  #setUp(): void {
    const { stdin, stdout } = process;
    if (stdin.isTTY) stdin.setRawMode(true).on('data', this.#typed).resume();
    stdout.write(ENTER);
  }

  readonly #restore = (): void => {
    const { stdin, stdout } = process;
    if (stdin.isTTY) stdin.off('data', this.#typed).setRawMode(false).pause();
    if (this.#isEntered) stdout.write(LEAVE);
  };

  readonly #again = (): void => {
    process.once('SIGCONT', this.#again);
    this.#setUp();
  };

  /** Without the terminal's own keys: they send no signals now. */
  readonly #typed = (keys: Buffer): void => {
    for (const key of keys.toString()) {
      if (key === CTRL_C) process.kill(process.pid, 'SIGINT');
      else if (key === CTRL_Z) this.#suspend();
      else if (key.toLowerCase() === 'q') this.#quit.abort();
    }
  };

  #suspend(): void {
    this.#restore();
    process.kill(process.pid, 'SIGTSTP');
  }
}

/** A text that is shown again and again, in place on a terminal, until it is the last or the user ends it. */
import { pause } from '../../base/backoff.ts';
import type { Clock } from '../../base/seams.ts';
import { visibleStyled } from '../../base/visible.ts';
import { cut, DEFAULT_COLUMNS } from './fit.ts';

export interface Frame {
  readonly text: string;
  /** Nothing will change any more. */
  readonly isLast: boolean;
}

export interface LiveViewOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Aborts when the user interrupts the command. */
  readonly signal: AbortSignal;
  readonly look: () => Promise<Frame>;
}

/** The other screen of the terminal, with the cursor hidden; and back. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const END_OF_LINE = '\u001b[K';
const END_OF_SCREEN = '\u001b[J';

/** In raw mode Ctrl-C is a key like others. */
const QUIT_KEYS = ['q', 'Q', '\u0003'];

/** True when the last frame was shown, false when the user ended it. What was shown last stays on the terminal. */
export async function showLive(options: LiveViewOptions): Promise<boolean> {
  const { stdout, stdin } = process;
  if (!stdout.isTTY) return follow(options, (text) => void stdout.write(`${visibleStyled(text)}\n`));
  const quit = new AbortController();
  const onKey = (keys: Buffer): void => {
    if ([...keys.toString()].some((key) => QUIT_KEYS.includes(key))) quit.abort();
  };
  const hasKeys = stdin.isTTY && typeof stdin.setRawMode === 'function';
  if (hasKeys) stdin.setRawMode(true).on('data', onKey).resume();
  let last = '';
  const leave = (): void => {
    if (hasKeys) stdin.off('data', onKey).setRawMode(false).pause();
    stdout.write(LEAVE);
  };
  // A second signal ends the process at once.
  process.once('exit', leave);
  stdout.write(ENTER);
  try {
    const signal = AbortSignal.any([options.signal, quit.signal]);
    return await follow({ ...options, signal }, (text) => {
      last = visibleStyled(text);
      stdout.write(screen(last, stdout));
    });
  } finally {
    process.off('exit', leave);
    leave();
    if (last !== '') stdout.write(`${last}\n`);
  }
}

async function follow(options: LiveViewOptions, show: (text: string) => void): Promise<boolean> {
  const { clock, intervalMs, signal, look } = options;
  for (;;) {
    const { text, isLast } = await look();
    if (signal.aborted) return false;
    show(text);
    if (isLast) return true;
    await pause(clock, intervalMs, signal);
    if (signal.aborted) return false;
  }
}

/** As many lines as there is room for. */
function screen(text: string, { columns, rows }: NodeJS.WriteStream): string {
  const lines = text.split('\n').slice(0, Math.max(1, (rows || 24) - 1));
  const shown = lines.map((line) => `${cut(line, columns || DEFAULT_COLUMNS)}${END_OF_LINE}\n`);
  return `${HOME}${shown.join('')}${END_OF_SCREEN}`;
}

/** Spinners and progress bars on stderr, only on a terminal. */
import { visible } from '../../base/visible.ts';
import { isColorWanted } from '../../host/host.ts';

export interface Wait {
  /** Changes the text. */
  text(text: string): void;
  /** Ends it with a line that stays, or without one. */
  done(text?: string): void;
  failed(text: string): void;
}

const SILENT: Wait = { text: () => {}, done: () => {}, failed: () => {} };

export async function startWait(text: string, wanted: boolean): Promise<Wait> {
  // On a terminal without a width yet (`script` without a terminal of its own, some CI) ora would clear lines forever.
  if (!wanted || !isColorWanted(process.stderr) || process.stderr.columns === 0) return SILENT;
  const { default: ora } = await import('ora');
  // Signals and keys stay with the command: otherwise ora would read stdin and catch Ctrl-C.
  const spinner = ora({ text: visible(text), stream: process.stderr, discardStdin: false, hideCursor: true }).start();
  return {
    text: (next) => {
      spinner.text = visible(next);
    },
    done: (last) => void (last === undefined ? spinner.stop() : spinner.succeed(visible(last))),
    failed: (last) => void spinner.fail(visible(last)),
  };
}

export interface Progress {
  /** `note` follows the bar: loss, records per second, time left. */
  update(done: number, total: number, note?: string): void;
  end(text?: string): void;
}

const SHOW_AFTER_MS = 2000;
const BAR_CELLS = 24;

export function startProgress(title: string, wanted: boolean): Progress {
  const startMs = performance.now();
  let wait: Promise<Wait> | undefined;
  let line = title;
  let ended = false;
  return {
    update: (done, total, note) => {
      line = `${title} ${bar(done, total)}${note === undefined ? '' : `  ${note}`}`;
      if (ended || performance.now() - startMs < SHOW_AFTER_MS) return;
      wait ??= startWait(line, wanted);
      void wait.then((shown) => {
        if (!ended) shown.text(line);
      });
    },
    end: (text) => {
      ended = true;
      void wait?.then((shown) => shown.done(text));
    },
  };
}

/** `━━━━━━────── 50%`. */
export function bar(done: number, total: number): string {
  const part = total <= 0 ? 0 : Math.min(Math.max(done / total, 0), 1);
  const full = Math.floor(part * BAR_CELLS);
  return `${'━'.repeat(full)}${'─'.repeat(BAR_CELLS - full)} ${String(Math.floor(part * 100)).padStart(3)}%`;
}

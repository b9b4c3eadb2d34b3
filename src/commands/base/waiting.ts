/** Spinners and progress bars on stderr; lines if stderr is not a terminal. */
import { visible } from '../../base/visible.ts';
import { isColorWanted } from '../../host/host.ts';
import { columnsOf, cut, fitNotes, type Note } from './fit.ts';

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
  if (!wanted || !isAnimated() || process.stderr.columns === 0) return SILENT;
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
  /** `notes` follow the bar, as many as there is room for: loss, records per second, time left. */
  update(done: number, total: number, notes?: string | readonly Note[]): void;
  end(): void;
}

const SHOW_AFTER_MS = 2000;
/** Off a terminal, and in continuous integration, a line now and then takes the place of the bar. */
const LINE_EVERY_MS = 10_000;
/** The spinner and a space. */
const SPINNER_COLUMNS = 2;

export function startProgress(title: string, wanted: boolean): Progress {
  return isAnimated() ? animated(title, wanted) : inLines(title, wanted);
}

function animated(title: string, wanted: boolean): Progress {
  const startMs = performance.now();
  let isStarting = false;
  let shown: Wait | undefined;
  let line = title;
  let ended = false;
  return {
    update: (done, total, notes) => {
      const columns = columnsOf(process.stderr) - SPINNER_COLUMNS - 1;
      line = progressLine({ title, done, total, notes: asNotes(notes) }, columns);
      if (ended || performance.now() - startMs < SHOW_AFTER_MS) return;
      if (!isStarting) {
        isStarting = true;
        void startWait(line, wanted).then((started) => {
          shown = started;
          if (ended) shown.done();
        });
      }
      shown?.text(line);
    },
    // At once: what is printed next must not be on the line of the bar.
    end: () => {
      if (!ended) shown?.done();
      ended = true;
    },
  };
}

function inLines(title: string, wanted: boolean): Progress {
  let lastMs = performance.now();
  return {
    update: (done, total, notes) => {
      const nowMs = performance.now();
      if (!wanted || nowMs - lastMs < LINE_EVERY_MS) return;
      lastMs = nowMs;
      const start = [title, ...percent(done, total)].join('  ');
      const room = process.stderr.isTTY ? columnsOf(process.stderr) - start.length - 2 : Number.POSITIVE_INFINITY;
      process.stderr.write(`${visible(`${start}  ${fitNotes(asNotes(notes), room)}`.trimEnd())}\n`);
    },
    end: () => {},
  };
}

const asNotes = (notes: string | readonly Note[] = []): readonly Note[] =>
  typeof notes === 'string' ? [{ text: notes, rank: 0 }] : notes;

/** In continuous integration what is written to a terminal is kept in a file. */
export function isKept(): boolean {
  const { CI = '' } = process.env;
  return CI !== '' && CI !== 'false';
}

const isAnimated = (): boolean => isColorWanted(process.stderr) && !isKept();

export interface ProgressLine {
  readonly title: string;
  readonly done: number;
  readonly total: number;
  readonly notes: readonly Note[];
}

/** `training ━━━━━━────── 50%  pass 3/4  12 s left`, in one line of at most `columns` columns. */
export function progressLine({ title, done, total, notes }: ProgressLine, columns: number): string {
  const { cells } = BARS.find(({ from }) => columns >= from)!;
  const start = `${title} ${bar(done, total, cells)}`;
  const room = columns - start.length - 2;
  if (notes.length === 0 || room < LEAST_NOTE_COLUMNS) return cut(start, columns);
  return `${start}  ${fitNotes(notes, room)}`;
}

const BARS = [
  { from: 100, cells: 24 },
  { from: 60, cells: 16 },
  { from: 0, cells: 6 },
];
const LEAST_NOTE_COLUMNS = 6;

const part = (done: number, total: number): number => (total <= 0 ? 0 : Math.min(Math.max(done / total, 0), 1));
const percent = (done: number, total: number): string[] =>
  total <= 0 ? [] : [`${Math.floor(part(done, total) * 100)}%`];

/** `━━━━━━────── 50%`. */
export function bar(done: number, total: number, cells: number): string {
  const full = Math.floor(part(done, total) * cells);
  return `${'━'.repeat(full)}${'─'.repeat(cells - full)} ${String(Math.floor(part(done, total) * 100)).padStart(3)}%`;
}

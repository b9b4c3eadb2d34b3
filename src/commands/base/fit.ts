/** Text in the width of a terminal. Widths are those of `string-width`: of wide letters, and of none in styles. */
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

/** Where the width is not known: off a terminal, and on one that has no size (`docker run -t`, `script` in cron). */
export const DEFAULT_COLUMNS = 80;

export const columnsOf = ({ columns }: Pick<NodeJS.WriteStream, 'columns'>): number => columns || DEFAULT_COLUMNS;

/** One line: its beginning and `…` when it is too wide. */
export function cut(line: string, columns: number): string {
  if (stringWidth(line) <= columns) return line;
  const [first = ''] = wrapAnsi(line, Math.max(1, columns - 1), { hard: true, wordWrap: false, trim: false }).split(
    '\n',
  );
  return `${first}…`;
}

/** Lines that are too wide go on in the next, indented. */
export function wrapped(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => wrappedLine(line, columns))
    .join('\n');
}

const INDENT = '  ';

function wrappedLine(line: string, columns: number): string[] {
  if (stringWidth(line) <= columns) return [line];
  const [first = '', ...rest] = wrapAnsi(line, columns, { hard: true, trim: false }).split('\n');
  if (rest.length === 0) return [first];
  const own = /^ */.exec(line)![0] + INDENT;
  const room = Math.max(1, columns - own.length);
  // What follows is wrapped once more, as it has less room. Styles end and begin again with each line.
  const left = line.startsWith(first) ? line.slice(first.length) : rest.join(' ');
  const others = wrapAnsi(left.trim(), room, { hard: true }).split('\n');
  return [first.trimEnd(), ...others.map((other) => `${own}${other}`)];
}

/** A part of a progress line. */
export interface Note {
  readonly text: string;
  /** Where there is no room for all, those with the lowest go first. */
  readonly rank: number;
}

/** As many of them as there is room for, in their order. */
export function fitNotes(notes: readonly Note[], columns: number): string {
  const kept = [...notes];
  const text = (): string => kept.map((note) => note.text).join('  ');
  while (kept.length > 1 && stringWidth(text()) > columns) {
    const lowest = Math.min(...kept.map(({ rank }) => rank));
    kept.splice(
      kept.findIndex(({ rank }) => rank === lowest),
      1,
    );
  }
  return cut(text(), columns);
}

/** `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < 100) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The help of a command. Flags that many commands share have separate topics (`topics.ts`). */
import { type Command, CommandHelp, type Config, type Interfaces } from '@oclif/core';
import stringWidth from 'string-width';
import { aboutOf, type ShownFlag, valueText } from './flag-facts.ts';

type Row = [string, string | undefined];

/** Where descriptions have fewer characters a line, they stand below their flags. */
const NARROWEST_COLUMN = 28;
const GAP = 2;
const BELOW = 8;

/** Groups of flags that help names in one line, and where the flags are described. */
const SHARED: Readonly<Record<string, string>> = {
  STORE: 'Where the job is, and access to etcd: `paddlet help store`.',
  GLOBAL: 'Output and logs: `paddlet help flags`.',
};

const isShared = ({ helpGroup = '' }: ShownFlag): boolean => Object.hasOwn(SHARED, helpGroup);

export class PaddletHelp extends CommandHelp {
  readonly #isTopic: boolean;

  /** A topic shows the flags that commands share. */
  constructor(command: Command.Loadable, config: Config, options: Interfaces.HelpOptions, isTopic = false) {
    super({ ...command, id: command.id.replaceAll(':', ' ') }, config, options);
    this.#isTopic = isTopic;
  }

  protected override groupFlags(flags: Command.Flag.Any[]): {
    flagGroups: Record<string, Command.Flag.Any[]>;
    mainFlags: Command.Flag.Any[];
  } {
    if (this.#isTopic) return { mainFlags: flags, flagGroups: {} };
    return { mainFlags: flags.filter((flag) => !isShared(flag as ShownFlag)), flagGroups: {} };
  }

  protected override flags(flags: Command.Flag.Any[]): [string, string | undefined][] | undefined {
    const shown = flags as readonly ShownFlag[];
    const hasLetter = shown.some(({ char }) => char !== undefined);
    const rows = shown.map((flag): Row => [labelOf(flag, hasLetter), aboutOf(flag)]);
    return rows.length === 0 ? undefined : rows;
  }

  protected override sections() {
    const all = Object.values(this.command.flags ?? {}) as readonly ShownFlag[];
    const rows = Object.entries(SHARED).flatMap(([group, about]): Row[] => {
      const names = namesOf(all.filter(({ helpGroup }) => helpGroup === group));
      return names === '' || this.#isTopic ? [] : [[names, about]];
    });
    const shared = {
      header: 'SHARED FLAGS',
      generate: (_: unknown, header: string) => [{ header, body: rows }],
    };
    return super
      .sections()
      .flatMap((section) => (section.header === 'FLAGS' && rows.length > 0 ? [section, shared] : [section]));
  }

  /** Paragraphs, each wrapped to the terminal. Oclif's shows the last line of a description. */
  protected override description(): string | undefined {
    const paragraphs = this.command.description?.split(/\n\s*\n/);
    return paragraphs?.map((text) => this.wrap(text.replaceAll(/\s+/g, ' '))).join('\n\n');
  }

  /** Two columns. Oclif's trims the indent of the first row away. */
  override renderList(rows: Row[], { indentation }: { indentation: number }): string {
    const width = Math.max(...rows.map(([label]) => stringWidth(label)));
    const isNarrow = this.opts.maxWidth - indentation - width - GAP < NARROWEST_COLUMN;
    const column = isNarrow ? BELOW : width + GAP;
    return rows
      .map(([label, about = '']) => {
        const lines = this.wrap(about, indentation + column).split('\n');
        const text = lines.join(`\n${' '.repeat(column)}`);
        if (about === '') return label;
        return isNarrow
          ? `${label}\n${' '.repeat(column)}${text}`
          : `${label}${' '.repeat(column - stringWidth(label))}${text}`;
      })
      .join('\n');
  }
}

/** `--store, --chroot, --store-...`: names that begin with another one's are one. */
function namesOf(flags: readonly ShownFlag[]): string {
  const names = flags.flatMap(({ name = '', char }) => [...(char === undefined ? [] : [`-${char}`]), `--${name}`]);
  const short = names.map((name) => names.find((other) => name.startsWith(`${other}-`))?.concat('-...') ?? name);
  return [...new Set(short)].join(', ');
}

function labelOf(flag: ShownFlag, hasLetter: boolean): string {
  const { name = '', char } = flag;
  const letter = char === undefined ? (hasLetter ? '    ' : '') : `-${char}, `;
  const value = valueText(flag);
  return `${letter}--${name}${value === '' ? '' : `=${value}`}`;
}

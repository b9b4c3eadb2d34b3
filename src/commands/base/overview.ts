import { Chalk } from 'chalk';
import { versionLine } from '../version.ts';
import { type CommandEntry, GROUPS } from './command-table.ts';

type Shown = Pick<CommandEntry, 'id' | 'group' | 'summary'>;

/** The output of `paddlet` without a command: all commands by group. `under` shows only commands that start with it. */
export function overview(commands: readonly Shown[], color: boolean, under?: string): string {
  const paint = new Chalk({ level: color ? 1 : 0 });
  const shown = commands.filter(({ id }) => under === undefined || id.startsWith(`${under}:`));
  const width = Math.max(...shown.map(({ id }) => id.length));
  const line = ({ id, summary }: Shown): string => `  ${paint.cyan(id.replaceAll(':', ' ').padEnd(width))}  ${summary}`;
  const groups = Object.entries(GROUPS).flatMap(([group, title]) => {
    const lines = shown.filter((entry) => entry.group === group).map(line);
    return lines.length === 0 ? [] : [`${paint.bold(title)}\n${lines.join('\n')}`];
  });
  const head = `${paint.bold('paddlet')}  Fault-tolerant, elastic parameter-server training in one executable\n${paint.dim(versionLine())}`;
  const usage = `${paint.bold('Usage')}\n  paddlet COMMAND [ARGUMENTS] [FLAGS]\n  paddlet COMMAND --help   shows its flags and examples`;
  return [head, usage, ...groups].join('\n\n');
}

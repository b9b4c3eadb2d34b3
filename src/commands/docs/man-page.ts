/** A page of the manual (roff, man(7)) from the table of commands. */
import type { Command } from '@oclif/core';
import { helpSubject } from '../base/oclif-config.ts';
import { aboutOf, type ShownFlag, valueText } from '../help/flag-facts.ts';
import { VERSION } from '../version.ts';

export async function commandPage(entry: Command.Loadable): Promise<string> {
  const { usage, description, examples, flags, args } = await helpSubject(entry);
  const name = `paddlet ${entry.id.replaceAll(':', ' ')}`;
  const shownArgs = Object.values(args ?? {}).map((arg) => item(italic(arg.name.toUpperCase()), arg.description ?? ''));
  const shown = Object.entries((flags ?? {}) as Readonly<Record<string, ShownFlag>>);
  const shownExamples = (examples ?? []).map((one) => {
    const { command, description: about } = one as { readonly command: string; readonly description: string };
    return `.PP\n${text(about)}\n.PP\n.nf\n.RS\n${text(command.replaceAll('<%= config.bin %>', 'paddlet'))}\n.RE\n.fi`;
  });
  return page(name.replaceAll(' ', '-'), [
    ['NAME', `${text(name.replaceAll(' ', '-'))} \\- ${text(entry.summary ?? '')}`],
    ['SYNOPSIS', `${bold('paddlet')} ${text(String(usage))}`],
    ['DESCRIPTION', text(description ?? entry.summary ?? '')],
    ...(shownArgs.length === 0 ? [] : ([['ARGUMENTS', shownArgs.join('\n')]] as const)),
    ['OPTIONS', shown.map(([flag, facts]) => flagItem(flag, facts)).join('\n')],
    ['EXAMPLES', shownExamples.join('\n')],
    ['SEE ALSO', text('paddlet docs operations')],
  ]);
}

export function overviewPage(commands: readonly Command.Loadable[]): string {
  const items = commands.map(({ id, summary = '' }) => item(bold(`paddlet ${id.replaceAll(':', ' ')}`), summary));
  return page('paddlet', [
    ['NAME', `paddlet \\- ${text('fault-tolerant, elastic parameter-server training in one executable')}`],
    ['SYNOPSIS', `${bold('paddlet')} ${text('COMMAND [ARGUMENTS] [FLAGS]')}`],
    ['COMMANDS', items.join('\n')],
    ['SEE ALSO', text('paddlet docs; paddlet docs --man COMMAND')],
  ]);
}

const page = (name: string, sections: readonly (readonly [string, string])[]): string =>
  [
    `.TH ${name.toUpperCase().replaceAll('-', '\\-')} 1 "" "paddlet ${VERSION}" "paddlet"`,
    ...sections.map(([title, body]) => `.SH ${title}\n${body}`),
  ].join('\n');

const item = (head: string, body: string): string => `.TP\n${head}\n${text(body)}`;

function flagItem(name: string, flag: ShownFlag): string {
  const value = valueText(flag);
  const short = flag.char === undefined ? '' : `${bold(`-${flag.char}`)}, `;
  return item(`${short}${bold(`--${name}`)}${value === '' ? '' : ` ${italic(value)}`}`, aboutOf(flag));
}

const bold = (words: string): string => `\\fB${escaped(words)}\\fR`;
const italic = (words: string): string => `\\fI${escaped(words)}\\fR`;

const escaped = (words: string): string =>
  words
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/[^\0-\x7f]/gu, (sign) => `\\[u${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`);

/** A line that begins with a dot or a quote would be a request. */
const text = (words: string): string => escaped(words.replaceAll(/\s*\n\s*/g, ' ').trim()).replace(/^(?=[.'])/, '\\&');

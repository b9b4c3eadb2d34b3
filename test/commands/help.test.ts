/** How help is laid out, in terminals of all widths; what many commands share is in topics. */
import { tmpdir } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { HELP_OPTIONS, helpSubject, loadConfig } from '../../src/commands/base/oclif-config.ts';
import { PaddletHelp } from '../../src/commands/help/command-help.ts';
import { TOPICS, topicSubject } from '../../src/commands/help/topics.ts';
import { COMMANDS } from '../../src/commands/index.ts';
import { runCommand } from './run-command.ts';

type Config = Awaited<ReturnType<typeof loadConfig>>;

const paddlet = (...words: string[]) => runCommand(words, { cwd: tmpdir() });

let config: Config;
beforeAll(async () => {
  config = await loadConfig(COMMANDS);
});

async function helpOf(id: string, maxWidth: number): Promise<string> {
  const subject = await helpSubject(config.findCommand(id, { must: true }));
  return new PaddletHelp(subject, config, { ...HELP_OPTIONS, maxWidth }).generate();
}

/** Lines of the section, without their indent. */
function section(help: string, title: string): string[] {
  const [, body = ''] = help.split(new RegExp(`^${title}$`, 'm'));
  return body
    .split(/\n\n(?=[A-Z ]+\n)/)[0]!
    .split('\n')
    .filter(Boolean);
}

const LABEL = /^ {2}( {4}|-\w, )?--[a-z-]+(=\S+)?/;

describe.each(COMMANDS.map(({ id }) => id))('help of %s', (id) => {
  it.each([40, 80])('fits into %i columns, in two columns or below each other', async (width) => {
    const help = await helpOf(id, width);
    const examples = help.indexOf('\nEXAMPLES\n');
    for (const line of help.slice(0, examples).split('\n')) expect(line.length, line).toBeLessThanOrEqual(width);
    const flags = section(help, 'FLAGS');
    const labels = flags.filter((line) => LABEL.test(line)).map((line) => LABEL.exec(line)!);
    const hasLetter = labels.some(([, letter = '']) => letter.trim() !== '');
    for (const [label, letter] of labels) expect(letter !== undefined, label).toBe(hasLetter);
    const isBelow = flags.some((line) => LABEL.exec(line)?.[0] === line);
    const starts = new Set(
      flags.flatMap((line) => {
        const label = LABEL.exec(line)?.[0] ?? '';
        const rest = line.slice(label.length);
        return rest.trim() === '' ? [] : [label.length + rest.search(/\S/)];
      }),
    );
    expect([isBelow ? 'below' : 'beside', starts.size]).toEqual([
      isBelow ? 'below' : 'beside',
      flags.length === 0 ? 0 : 1,
    ]);
  });

  it('says what each value is, and shows no empty default', async () => {
    const help = await helpOf(id, 100);
    expect(help).not.toMatch(/\[default|<option>|<value>|Default: -?\.\s/);
    expect(section(help, 'FLAGS').join('\n')).not.toMatch(/--(log-format|json|store-)/);
    expect(help).toContain('`paddlet help flags`');
  });
});

describe.each(Object.keys(TOPICS))('help %s', (name) => {
  it('has the flags that commands do not repeat', async () => {
    const { code, out } = await paddlet('help', name);
    expect(code).toBe(0);
    for (const flag of Object.keys(TOPICS[name]!.flags)) expect(out).toContain(`--${flag}`);
    expect(out).not.toContain('SHARED FLAGS');
    expect(topicSubject(name).summary).toBe(out.split('\n')[0]);
    expect((await paddlet()).out).toContain(`help ${name}`);
  });
});

it('a document of two words may be named with a blank', async () => {
  const { out } = await paddlet('docs', 'checkpoint', 'format');
  expect(out).toBe((await paddlet('docs', 'checkpoint-format')).out);
});

import { spawnSync } from 'node:child_process';
import { Args, type Command, Flags } from '@oclif/core';
import { unknownCommand } from '../base/unknown-command.ts';
import { PaddletCommand } from '../base-command.ts';
import { commandPage, overviewPage } from './man-page.ts';
import { TEXTS } from './texts.ts';
import { titleOf, topicText } from './topic.ts';

export default class Docs extends PaddletCommand<typeof Docs> {
  static override summary = 'Show the documents and manual pages that come with paddlet';
  static override description =
    `Without a topic, lists all topics. A topic is a document, such as operations, or a heading of a document, such as
operations#sync-mode. If the environment variable PAGER is set and stdout is a terminal, that pager shows the text.`;
  static override examples = [
    { command: '<%= config.bin %> docs job-file', description: 'Show the reference of the job file.' },
    { command: '<%= config.bin %> docs operations#sync-mode', description: 'Show the text under one heading.' },
    {
      command: '<%= config.bin %> docs --man data index > paddlet-data-index.1',
      description:
        'Write the manual page of `data index` to a file. Without a command, --man prints the page of paddlet itself.',
    },
  ];
  // A command or a topic may have two words.
  static override strict = false;
  static override args = {
    topic: Args.string({
      ignoreStdin: true,
      description: 'Document or heading to show; with --man, a command. Default: list all topics.',
    }),
  };
  static override flags = {
    man: Flags.boolean({ description: 'Print the manual page of a command, or of paddlet itself, in roff format.' }),
  };

  override async execute(): Promise<void> {
    const words = this.positional();
    // Documents of several words are named with dashes.
    const topic = words.join('-');
    if (this.flags.man) this.show(words.join(' '), await manPage(words, this.config.commands));
    else if (topic !== '') this.show(topic, topicText(TEXTS, topic).trimEnd());
    else this.list();
  }

  private list(): void {
    const topics = Object.entries(TEXTS).map(([name, text]) => ({ name, title: titleOf(text) }));
    const width = Math.max(...topics.map(({ name }) => name.length));
    const lines = topics.map(({ name, title }) => `${name.padEnd(width)}  ${title}`);
    this.output({ topics }, () => [...lines, 'paddlet docs TOPIC shows one'].join('\n'));
  }

  private show(topic: string, text: string): void {
    const { PAGER: pager } = process.env;
    if (!this.flags.json && process.stdout.isTTY && pager !== undefined && pager !== '') {
      const { status, error } = paged(pager, text);
      // The shell's exit codes 126 and 127: the program cannot be run, or is missing.
      if (error === undefined && status !== 126 && status !== 127) return;
    }
    this.output({ topic, text }, () => text);
  }
}

/** Ctrl-C is for the pager: it ends a search there. */
function paged(pager: string, text: string) {
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  try {
    return spawnSync(pager, { shell: true, input: `${text}\n`, stdio: ['pipe', 'inherit', 'inherit'] });
  } finally {
    process.off('SIGINT', ignore);
  }
}

async function manPage(words: readonly string[], commands: readonly Command.Loadable[]): Promise<string> {
  if (words.length === 0) return overviewPage(commands);
  const entry = commands.find(({ id }) => id === words.join(':').replaceAll(/[\s-]/g, ':'));
  if (entry === undefined)
    throw unknownCommand(
      words,
      commands.map(({ id }) => id),
    );
  return commandPage(entry);
}

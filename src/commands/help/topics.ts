/** Help on what many commands share: `paddlet help store`, `paddlet help flags`. */
import type { Command } from '@oclif/core';
import type { CommandEntry } from '../base/command-table.ts';
import { everyFlags, jobFlags } from '../base/flags.ts';

interface Topic {
  readonly summary: string;
  readonly description: string;
  readonly usage: string;
  readonly flags: Readonly<Record<string, object>>;
  readonly examples: readonly { readonly command: string; readonly description: string }[];
}

export const TOPICS: Readonly<Record<string, Topic>> = {
  store: {
    summary: 'Explain how commands find a job, and the flags that select a store',
    usage: '[JOB] [FLAGS]',
    description: `All processes of a job coordinate through a store: etcd in a cluster, or one SQLite file on one machine.
The argument JOB of a command is the name of a job, or the path of the job's folder. If --store is not given, the name is
that of a folder in ./.paddlet, where \`paddlet run\` keeps its jobs. If --store is given, the name is that of a job in the
store. If JOB is omitted, a command uses the only job in ./.paddlet or in the store.`,
    flags: jobFlags,
    examples: [
      { command: '<%= config.bin %> status clicks', description: 'Show the job in ./.paddlet/clicks.' },
      {
        command: '<%= config.bin %> status clicks --store etcd://10.0.0.5:2379',
        description: 'Show the job /paddlet/clicks in etcd.',
      },
      {
        command: '$ PADDLET_STORE=etcd://10.0.0.5:2379 <%= config.bin %> pserver clicks',
        description: 'Start a pserver that reads the URL of the store from the environment.',
      },
    ],
  },
  flags: {
    summary: 'Explain the flags for output and logs, which every command has',
    usage: '[FLAGS]',
    description: `Results go to stdout; logs, progress and errors go to stderr. paddlet shows colors and progress bars
only on a terminal, and never shows colors if NO_COLOR is set.

The exit code is 0 if the command succeeded, and 130 if it was interrupted. Exit codes of errors: 1 bug in paddlet, 2 usage
or job file, 3 data, 4 store, 9 machine. Exit codes of failed training: 5 lease lost, 6 job failed, 7 parameters lost,
8 tasks discarded. See paddlet docs operations#exit-codes.`,
    flags: everyFlags,
    examples: [
      {
        command: '<%= config.bin %> status clicks --json | jq .records',
        description: 'Print the record counts of the job for a script.',
      },
      {
        command: '<%= config.bin %> run clicks.yaml --log-level warn --log-format json 2>run.log',
        description: 'Log only warnings and errors, one JSON object per line.',
      },
    ],
  },
};

/** Entries for the overview. */
export const TOPIC_ENTRIES: readonly Pick<CommandEntry, 'id' | 'group' | 'summary'>[] = Object.entries(TOPICS).map(
  ([name, { summary }]) => ({ id: `help:${name}`, group: 'help', summary }),
);

/** What a topic shows, as that of a command. */
export function topicSubject(name: string): Command.Loadable {
  const { summary, usage, description, flags, examples } = TOPICS[name]!;
  const named = Object.fromEntries(Object.entries(flags).map(([flag, facts]) => [flag, { ...facts, name: flag }]));
  const subject = {
    id: 'COMMAND',
    summary,
    usage,
    description,
    examples,
    args: {},
  };
  return { ...subject, flags: named } as unknown as Command.Loadable;
}

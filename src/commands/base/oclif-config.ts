/**
 * Configures oclif from a table: a single executable has no command files on disk to discover. The root plugin is an
 * object that knows the names of the commands and loads their classes on demand.
 */
import { type Command, Config, type Interfaces } from '@oclif/core';
import { VERSION } from '../version.ts';
import type { CommandClass } from './command-class.ts';
import type { CommandEntry } from './command-table.ts';
import { everyFlags } from './flags.ts';
import { withoutUser } from './without-user.ts';

export const HELP_OPTIONS: Interfaces.HelpOptions = {
  docopts: false,
  flagSortOrder: 'none',
  hideCommandSummaryInDescription: true,
  maxWidth: Math.min(process.stdout.columns ?? 100, 120),
};

const PJSON: Interfaces.PJSON = {
  name: 'paddlet',
  version: VERSION,
  oclif: {
    bin: 'paddlet',
    topicSeparator: ' ',
  },
};

/** A folder that does not exist, so that oclif finds no manifest, theme or plugins on disk. */
const ROOT = '/paddlet';

export async function loadConfig(commands: readonly CommandEntry[]): Promise<Config> {
  return withoutUser(() =>
    Config.load({ root: ROOT, pjson: PJSON, plugins: new Map([['paddlet', rootPlugin(commands)]]) }),
  );
}

function rootPlugin(commands: readonly CommandEntry[]): Interfaces.Plugin {
  return {
    _base: '',
    alias: 'paddlet',
    commandIDs: commands.map(({ id }) => id),
    commands: commands.map(loadable),
    commandsDir: undefined,
    findCommand: (async (id: string) =>
      commands.find((entry) => entry.id === id)?.load()) as Interfaces.Plugin['findCommand'],
    hasManifest: false,
    hooks: {},
    isRoot: true,
    load: async () => {},
    moduleType: 'module',
    name: 'paddlet',
    options: { root: ROOT },
    pjson: PJSON,
    root: ROOT,
    topics: [],
    type: 'core',
    valid: true,
    version: VERSION,
  };
}

function loadable({ id, summary, load }: CommandEntry): Command.Loadable {
  return {
    id,
    summary,
    aliases: [],
    args: {},
    flags: {},
    hidden: false,
    hiddenAliases: [],
    load: async () => (await loadClass({ id, load })) as Command.Class,
  };
}

/** The class of a command, which then knows its id. */
export async function loadClass({ id, load }: Pick<CommandEntry, 'id' | 'load'>): Promise<CommandClass> {
  const loaded = await load();
  loaded.id = id;
  return loaded;
}

/** A command with everything that its help shows. */
export async function helpSubject(entry: Command.Loadable): Promise<Command.Loadable> {
  const loaded = await entry.load();
  const { summary, description, examples, args, strict } = loaded;
  const flags = { ...loaded.flags, ...everyFlags, ...loaded.flags };
  for (const [name, flag] of Object.entries(flags)) flag.name = name;
  for (const [name, arg] of Object.entries(args)) arg.name = name;
  const words = Object.values(args).map(({ name, required }) =>
    required ? name.toUpperCase() : `[${name.toUpperCase()}]`,
  );
  const usage = loaded.usage ?? [entry.id.replaceAll(':', ' '), ...words, '[FLAGS]'].join(' ');
  const shown = { summary, description, examples, usage, args, flags, strict };
  return { ...entry, ...(shown as Partial<Command.Loadable>) };
}

/** Flags that several commands share. Spread the groups a command needs into its `flags`. */
import { Flags } from '@oclif/core';
import type { LogLevel } from '../../base/seams.ts';
import { LOG_LEVELS } from '../../host/log.ts';
import { chrootPrefix, localFolder } from './folder-flag.ts';
import { storeAtHome } from './path-values.ts';
import { credentialFlags } from './store-credentials.ts';

interface LogLevelFacts {
  readonly env?: string;
  readonly description: string;
  readonly helpGroup?: string;
}

/** `logs` has its own in place of the global one: the entries of the job are what it shows. */
export function logLevelFlag(initial: LogLevel, facts: LogLevelFacts) {
  return Flags.option({ ...facts, options: LOG_LEVELS, default: initial })();
}

/**
 * Flags of every command. A letter means the same flag in every command: `-j` json, `-s` set, `-o` output. Letters are
 * for flags that are typed daily; flags that delete or overwrite are typed in full.
 */
export const everyFlags = {
  json: Flags.boolean({
    char: 'j',
    description: 'Print the result or the error as JSON on stdout.',
    helpGroup: 'GLOBAL',
  }),
  'log-level': logLevelFlag('info', {
    env: 'PADDLET_LOG_LEVEL',
    description: 'Lowest level of the log entries to write to stderr.',
    helpGroup: 'GLOBAL',
  }),
  'log-format': Flags.option({
    options: ['text', 'json'] as const,
    default: 'text' as const,
    env: 'PADDLET_LOG_FORMAT',
    description: 'Format of the log on stderr: text, or one JSON object per line.',
    helpGroup: 'GLOBAL',
  })(),
};

export const storeFlags = {
  store: Flags.string({
    env: 'PADDLET_STORE',
    helpValue: 'URL',
    parse: async (url) => storeAtHome(url),
    description: 'URL of the coordination store: etcd://host:port[,host:port...], etcds:// for TLS, or sqlite:PATH.',
    helpGroup: 'STORE',
  }),
  ...credentialFlags,
};

/** Where the job is. */
export const jobFlags = {
  ...storeFlags,
  chroot: Flags.string({
    helpValue: 'PREFIX',
    parse: chrootPrefix,
    description:
      "Prefix of the job's keys in the store. Default: the prefix of the only job there; for a new job, /paddlet/NAME.",
    helpGroup: 'STORE',
  }),
  dir: Flags.string({
    helpValue: 'FOLDER',
    parse: localFolder,
    description:
      'Folder of the job. It holds logs, checkpoints and, without --store, store.db. Default: ./.paddlet/NAME.',
    helpGroup: 'STORE',
  }),
};

/** `otherwise`: the folder of the data without the flag, which differs from command to command. */
export const dataFlagsElse = (otherwise: string) => ({
  'data-dir': Flags.string({
    env: 'PADDLET_DATA',
    helpValue: 'FOLDER',
    parse: localFolder,
    description: `Folder that relative data paths start from. Default: ${otherwise}.`,
  }),
});

export const dataFlags = dataFlagsElse('the folder of the job file');

/** Where decompressed files and indexes are kept. */
export const cacheFlags = {
  'cache-dir': Flags.string({
    env: 'PADDLET_CACHE',
    helpValue: 'FOLDER',
    parse: localFolder,
    default: '.paddlet/cache',
    description: 'Folder for decompressed data files, indexes and parsed tasks, which all jobs share.',
  }),
};

/** Changes to the job file. */
export const setFlags = {
  set: Flags.string({
    char: 's',
    multiple: true,
    multipleNonGreedy: true,
    default: [],
    helpValue: 'FIELD=VALUE',
    description: 'Field of the job file to override, such as training.passes=3. May be repeated.',
  }),
};

/** Label files, for idx data. */
export const labelsFlag = Flags.string({
  multiple: true,
  multipleNonGreedy: true,
  helpValue: 'FILE',
  description: 'Label file of an idx data file, in the order of the data files. May be repeated.',
});

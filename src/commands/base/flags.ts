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
    description: 'Print the result, or the error if the command fails, as JSON on stdout.',
    helpGroup: 'GLOBAL',
  }),
  'log-level': logLevelFlag('info', {
    env: 'PADDLET_LOG_LEVEL',
    description: 'Minimum level of the log entries to write to stderr.',
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
      "Prefix of the job's keys in the store. Default: /paddlet/ followed by the job's name; if the command line does not name a job, the prefix of the only job.",
    helpGroup: 'STORE',
  }),
  dir: Flags.string({
    helpValue: 'FOLDER',
    parse: localFolder,
    description:
      "Folder of the job. The folder contains the logs, the checkpoints and, if --store is not given, the store (store.db). Default: ./.paddlet/ followed by the job's name.",
    helpGroup: 'STORE',
  }),
};

/** `otherwise`: the folder of the data without the flag, which differs from command to command. */
export const dataFlagsElse = (otherwise: string) => ({
  'data-dir': Flags.string({
    env: 'PADDLET_DATA',
    helpValue: 'FOLDER',
    parse: localFolder,
    description: `Folder in which relative paths of data files start. Default: ${otherwise}.`,
  }),
});

export const dataFlags = dataFlagsElse('the folder that contains the job file');

/** Where decompressed files and indexes are kept. */
export const cacheFlags = {
  'cache-dir': Flags.string({
    env: 'PADDLET_CACHE',
    helpValue: 'FOLDER',
    parse: localFolder,
    default: '.paddlet/cache',
    description:
      'Folder of the cache that all jobs share. The cache contains decompressed data files, indexes and parsed tasks.',
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
    description: 'Field of the job file to override and its new value, such as training.passes=3. May be repeated.',
  }),
};

/** Label files, for idx data. */
export const labelsFlag = Flags.string({
  multiple: true,
  multipleNonGreedy: true,
  helpValue: 'FILE',
  description: 'Label file that belongs to an idx data file. May be repeated, in the order of the data files.',
});

/** Flags that several commands share. Spread the groups a command needs into its `flags`. */
import { Flags } from '@oclif/core';
import { LOG_LEVELS } from '../../host/log.ts';

/** Of every command. */
export const everyFlags = {
  json: Flags.boolean({ description: 'Print results and errors as JSON.', helpGroup: 'GLOBAL' }),
  'log-level': Flags.option({
    options: LOG_LEVELS,
    default: 'info' as const,
    env: 'PADDLET_LOG_LEVEL',
    description: 'Least important lines to log on stderr.',
    helpGroup: 'GLOBAL',
  })(),
  'log-format': Flags.option({
    options: ['text', 'json'] as const,
    default: 'text' as const,
    env: 'PADDLET_LOG_FORMAT',
    description: 'Log lines for people, or one JSON object a line.',
    helpGroup: 'GLOBAL',
  })(),
};

export const storeFlags = {
  store: Flags.string({
    env: 'PADDLET_STORE',
    helpValue: 'URL',
    description: 'Coordination store: etcd://host:port[,host:port...] or sqlite:PATH.',
  }),
};

/** Where the job is. */
export const jobFlags = {
  ...storeFlags,
  chroot: Flags.string({
    helpValue: 'PREFIX',
    description: 'Prefix of the keys of the job in the store. Default: /paddlet/NAME, of the only job there.',
  }),
  dir: Flags.string({
    helpValue: 'FOLDER',
    description: 'Folder of the job: store.db, logs, checkpoints. Default: ./.paddlet/NAME.',
  }),
};

/** Where the data is. */
export const dataFlags = {
  'data-dir': Flags.string({
    env: 'PADDLET_DATA',
    helpValue: 'FOLDER',
    description:
      "Where relative data paths start. Default: the job file's folder, of trainer and evaluate that of the master.",
  }),
};

/** Where inflated files and indexes are kept, to be used again. */
export const cacheFlags = {
  'cache-dir': Flags.string({
    env: 'PADDLET_CACHE',
    helpValue: 'FOLDER',
    default: '.paddlet/cache',
    description: 'Where inflated files and indexes are kept for the next time.',
  }),
};

/** Changes to the job file. */
export const setFlags = {
  set: Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    default: [],
    helpValue: 'FIELD=VALUE',
    description: 'Override a field of the job file, for example training.passes=3. May be repeated.',
  }),
};

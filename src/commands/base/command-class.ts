import type { Command, Config } from '@oclif/core';
import type { PaddletCommand } from './paddlet-command.ts';

/** A concrete subcommand: what `src/commands/*.ts` export by default. */
export type CommandClass = typeof Command & CommandConstructor;

/** Without the part of oclif, whose class is abstract. */
export type CommandConstructor = new (argv: string[], config: Config) => PaddletCommand<typeof Command>;

import { Flags } from '@oclif/core';
import { jobJsonSchema } from '../job/schema.ts';
import { PaddletCommand } from './base-command.ts';

export default class Doctor extends PaddletCommand<typeof Doctor> {
  static override summary = 'Check that this machine can run paddlet, and say what is wrong';
  static override examples = [
    { command: '<%= config.bin %> doctor', description: 'Check this machine.' },
    {
      command: '<%= config.bin %> doctor --schema > job.schema.json',
      description: 'The JSON Schema of job files, for an editor.',
    },
  ];
  static override flags = {
    schema: Flags.boolean({ description: 'Print the JSON Schema of job files instead.' }),
  };

  override async execute(): Promise<void> {
    if (this.flags.schema) process.stdout.write(`${JSON.stringify(jobJsonSchema(), null, 2)}\n`);
  }
}

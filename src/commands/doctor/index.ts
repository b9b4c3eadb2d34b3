import { resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { Chalk } from 'chalk';
import { EXIT, type ExitCode } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { ownStyled } from '../../base/visible.ts';
import { isColorWanted } from '../../host/host.ts';
import { jobJsonSchema } from '../../job/schema.ts';
import { type CommandStore, openCommandStore, storeTimeoutFlag } from '../base/command-store.ts';
import { milliseconds } from '../base/duration-flag.ts';
import { localFolder } from '../base/folder-flag.ts';
import { cacheFlags, dataFlags, PaddletCommand, setFlags, storeFlags } from '../base-command.ts';
import { type Check, type CheckResult, runCheck } from './check.ts';

export default class Doctor extends PaddletCommand<typeof Doctor> {
  static override summary = 'Check that this machine can run paddlet, and report problems';
  static override description =
    `Checks the memory, the kernels, the network, the disk and a store. With a job file, also checks the job and its
data. The command leaves nothing behind except an empty folder. The exit code is that of the first check that failed,
or 0.`;
  static override examples = [
    { command: '<%= config.bin %> doctor', description: 'Check this machine.' },
    {
      command: '<%= config.bin %> doctor examples/a9a-lr.yaml --store etcd://127.0.0.1:2379',
      description: 'Also check a job, its data and a store.',
    },
    {
      command: '<%= config.bin %> doctor --schema > job.schema.json',
      description: 'Write the JSON Schema of job files, which an editor can use to check them.',
    },
  ];
  static override args = {
    job: Args.string({ description: 'Job file (YAML) to check; paddlet also checks the data of the job.' }),
  };
  static override flags = {
    ...storeFlags,
    timeout: storeTimeoutFlag,
    ...dataFlags,
    ...cacheFlags,
    ...setFlags,
    dir: Flags.string({
      default: '.paddlet',
      helpValue: 'FOLDER',
      parse: localFolder,
      description: 'Folder in which jobs keep their files; paddlet checks that the folder is writable.',
    }),
    schema: Flags.boolean({ description: 'Print the JSON Schema of job files and exit.' }),
  };

  override async execute(): Promise<ExitCode> {
    if (this.flags.schema) {
      process.stdout.write(`${JSON.stringify(jobJsonSchema(), null, 2)}\n`);
      return EXIT.done;
    }
    const results: CheckResult[] = [];
    for (const check of await this.checks()) {
      if (results.some(({ name, status }) => name === check.after && status === 'fail')) continue;
      const wait = await this.wait(check.name);
      try {
        results.push(await runCheck(check));
      } finally {
        wait.done();
      }
    }
    const failed = results.find(({ status }) => status === 'fail');
    const checks = results.map(({ exit: _, ...shown }) => shown);
    this.output({ ok: failed === undefined, checks }, () => this.describe(results));
    return failed?.exit ?? EXIT.done;
  }

  /** The checks' modules are loaded here: the schema needs none of them. */
  private async checks(): Promise<Check[]> {
    const { machineChecks, ownStoreCheck } = await import('./machine-checks.ts');
    const { jobChecks, storeCheck } = await import('./job-checks.ts');
    const host = this.host();
    const { store, dir, set: sets, 'data-dir': dataDir, 'cache-dir': cacheDir } = this.flags;
    const { job: path } = this.args;
    return [
      ...machineChecks(host, dir),
      store === undefined ? ownStoreCheck(host, dir) : storeCheck(store, () => this.openStore(host)),
      ...(path === undefined ? [] : jobChecks(host, { path, sets, dataDir, cacheDir: resolve(cacheDir) })),
    ];
  }

  private openStore(host: Host): Promise<CommandStore> {
    const { flags } = this;
    const limitMs = milliseconds(flags.timeout);
    // --dir is another folder here, of no job.
    const where = { ...flags, dir: undefined };
    return openCommandStore({ flags: where, host, signal: this.interruption(), access: 'write', limitMs });
  }

  private describe(results: readonly CheckResult[]): string {
    const paint = new Chalk({ level: isColorWanted(process.stdout) ? 1 : 0 });
    const signs = {
      ok: ownStyled(paint.green('ok')),
      warn: ownStyled(paint.yellow('warn')),
      fail: ownStyled(paint.red('fail')),
    };
    const hintWord = ownStyled(paint.cyan('hint'));
    const lines = results.flatMap(({ name, status, detail, hint }) => {
      const line = `${signs[status]}${' '.repeat(6 - status.length)}${name.padEnd(10)}${detail}`;
      return hint === undefined ? [line] : [line, `${' '.repeat(16)}${hintWord}: ${hint}`];
    });
    return lines.join('\n');
  }
}

/** The base of all subcommands: flags, the host, output for people and for scripts, interruption. */
import { Command, type Interfaces } from '@oclif/core';
import type { ExitCode } from '../../base/errors.ts';
import { atHome } from '../../base/local-path.ts';
import type { Host } from '../../base/seams.ts';
import { visibleStyled } from '../../base/visible.ts';
import { createHost, ownIdentity } from '../../host/host.ts';
import type { LogIdentity } from '../../host/log.ts';
import { everyFlags } from './flags.ts';
import { abortOnSignals, OWN_SIGNALS } from './interruption.ts';
import { argsAtHome, flagsAtHome } from './path-values.ts';
import { withNewNames } from './renamed-flags.ts';
import { renderTable, type TableColumn } from './table.ts';
import type { TypedCommand } from './typed-command.ts';
import { refuseValues } from './usage-errors.ts';
import { type Progress, startProgress, startWait, type Wait } from './waiting.ts';

export type FlagsOf<T extends typeof Command> = Interfaces.InferredFlags<
  (typeof PaddletCommand)['baseFlags'] & T['flags']
>;
export type ArgsOf<T extends typeof Command> = Interfaces.InferredArgs<T['args']>;

/**
 * A subcommand. Subclasses set `summary`, `description`, `examples`, `flags`, `args` and implement `execute`; they
 * throw PaddletErrors, which `main.ts` prints and turns into the exit code.
 */
export abstract class PaddletCommand<T extends typeof Command> extends Command {
  static override baseFlags = everyFlags;

  protected flags!: FlagsOf<T>;
  protected args!: ArgsOf<T>;
  /** Who logs: what becomes known later is set here. */
  protected readonly identity: LogIdentity = ownIdentity(this.ctor.id.split(':')[0]!);

  #words: readonly string[] = [];
  #host: Host | undefined;

  /** The static `run` of oclif would load its configuration again. */
  runAsLoaded(): Promise<ExitCode> {
    return this._run();
  }

  /** The exit code, or nothing for 0. */
  abstract execute(): Promise<ExitCode | undefined> | Promise<void>;

  override async run(): Promise<ExitCode> {
    this.argv = withNewNames(this.ctor.id, this.argv, (text) => process.stderr.write(`warning: ${text}\n`));
    refuseValues(this.argv, { ...everyFlags, ...this.ctor.flags });
    const { flags, args, argv } = await this.parse({
      flags: this.ctor.flags,
      baseFlags: everyFlags,
      args: this.ctor.args,
      strict: this.ctor.strict,
    });
    this.flags = flagsAtHome(flags, this.ctor.flags) as FlagsOf<T>;
    this.args = argsAtHome(args) as ArgsOf<T>;
    this.#words = argv.map((word) => atHome(String(word)));
    return (await this.execute()) ?? 0;
  }

  /** Oclif's own handler would print the error; `main.ts` does that. */
  override async catch(error: unknown): Promise<never> {
    throw error;
  }

  /** All arguments that are not flags: for commands that take any number (`strict = false`). */
  protected positional(): readonly string[] {
    return this.#words;
  }

  /** The typed words, for hints that repeat the command line. */
  protected get typed(): TypedCommand {
    return { command: this.ctor.id.split(':'), words: this.argv };
  }

  /** The real world. `role`: who its log says that this is; by default the command. */
  protected host(role?: string): Host {
    if (role !== undefined) this.identity.role = role;
    const { 'log-level': logLevel, 'log-format': logFormat } = this.everyFlags();
    this.#host ??= createHost({ logLevel, logFormat, identity: this.identity });
    return this.#host;
  }

  /**
   * Aborted with an `Interrupted` error by SIGINT, SIGTERM or a SIGHUP that is not ignored; a second one ends the
   * process at once, after `atOnce`.
   */
  protected interruption(atOnce?: () => void): AbortSignal {
    return abortOnSignals(OWN_SIGNALS, atOnce);
  }

  /** The result of the command: an object for `--json`, exact and on one line, or text for people. */
  protected output(result: object, forPeople: () => string): void {
    process.stdout.write(`${this.everyFlags().json ? JSON.stringify(result) : visibleStyled(forPeople())}\n`);
  }

  /** Text for people that is not the result; silent with `--json`. */
  protected say(text: string): void {
    if (!this.everyFlags().json) process.stdout.write(`${visibleStyled(text)}\n`);
  }

  protected table(columns: readonly TableColumn[], rows: readonly (readonly (string | number)[])[]): string {
    return renderTable(columns, rows, process.stdout);
  }

  /** A spinner on stderr with a text; silent without a terminal, under NO_COLOR and with `--json`. */
  protected async wait(text: string): Promise<Wait> {
    return startWait(text, !this.everyFlags().json);
  }

  /** A progress bar on stderr, shown after two seconds; lines if stderr is not a terminal. Silent with `--json`. */
  protected progress(title: string): Progress {
    return startProgress(title, !this.everyFlags().json);
  }

  private everyFlags(): Interfaces.InferredFlags<typeof everyFlags> {
    return this.flags as Interfaces.InferredFlags<typeof everyFlags>;
  }
}

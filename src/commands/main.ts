/** From the command line to a subcommand and back to an exit code. */
import type { Command, Config } from '@oclif/core';
import { EXIT, type ExitCode } from '../base/errors.ts';
import { armFailPoints } from '../base/fail-points.ts';
import { failHands } from '../host/fail-hands.ts';
import { isColorWanted } from '../host/host.ts';
import { guardOutputs, isReaderGone } from '../host/outputs.ts';
import { reporter } from '../host/reports.ts';
import type { CommandConstructor } from './base/command-class.ts';
import type { CommandEntry } from './base/command-table.ts';
import { errorJson, errorText, exitCodeOf } from './base/errors.ts';
import { fromSystem, outputFailed } from './base/machine-errors.ts';
import { HELP_OPTIONS, helpSubject, loadClass, loadConfig } from './base/oclif-config.ts';
import { overview } from './base/overview.ts';
import { unknownCommand } from './base/unknown-command.ts';
import { fromOclif } from './base/usage-errors.ts';
import { TOPIC_ENTRIES, TOPICS, topicSubject } from './help/topics.ts';
import { COMMANDS, commandNamed } from './index.ts';

/** Runs `paddlet <argv>`. Never throws: errors are printed and become the exit code. */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  const outputs = guardOutputs();
  process.on('uncaughtException', endByError);
  const target = resolveTarget(argv);
  const commandId = target.kind === 'command' ? target.entry.id : '';
  try {
    armFailPoints(process.env.PADDLET_FAIL, failHands);
    const code = await run(target, argv);
    const failure = await outputs.flushed();
    // The output of a child of `run` is a log.
    if (failure === undefined || isReaderGone(failure) || reporter() !== undefined) return code;
    printError(outputFailed(failure, commandId));
    return code === EXIT.done ? EXIT.machine : code;
  } catch (thrown) {
    const error = fromSystem(fromOclif(thrown, commandId));
    if (isJsonWanted(argv)) process.stdout.write(`${JSON.stringify(errorJson(error))}\n`);
    else printError(error);
    if ((await outputs.flushed()) !== undefined) printError(error);
    return exitCodeOf(error);
  }
}

function printError(error: unknown): void {
  process.stderr.write(`${errorText(error, isColorWanted(process.stderr))}\n`);
  const { code, message, hint } = errorJson(error).error;
  reporter()?.({ level: 'error', code, message, ...(hint === undefined ? {} : { hint }) });
}

/** An error that nothing awaits: a bug, or what the operating system refused to a library. */
function endByError(thrown: Error): void {
  const error = fromSystem(thrown);
  printError(error);
  process.exit(exitCodeOf(error));
}

type Target =
  | { readonly kind: 'overview'; readonly under: string | undefined }
  | { readonly kind: 'topic'; readonly name: string }
  | { readonly kind: 'unknown'; readonly words: readonly string[] }
  | { readonly kind: 'command'; readonly entry: CommandEntry; readonly rest: readonly string[] };

async function run(target: Target, argv: readonly string[]): Promise<ExitCode> {
  switch (target.kind) {
    case 'overview':
      process.stdout.write(
        `${overview([...COMMANDS, ...TOPIC_ENTRIES], isColorWanted(process.stdout), target.under)}\n`,
      );
      return EXIT.done;
    case 'topic':
      await showHelp(await loadConfig(COMMANDS), topicSubject(target.name), true);
      return EXIT.done;
    case 'unknown':
      throw unknownCommand(
        target.words,
        COMMANDS.map(({ id }) => id),
      );
    case 'command': {
      const config = await loadConfig(COMMANDS);
      if (isHelpWanted(argv)) {
        await showHelp(config, await helpSubject(config.findCommand(target.entry.id, { must: true })));
        return EXIT.done;
      }
      const Loaded: CommandConstructor = await loadClass(target.entry);
      return await new Loaded([...target.rest], config).runAsLoaded();
    }
  }
}

async function showHelp(config: Config, subject: Command.Loadable, isTopic = false): Promise<void> {
  const { PaddletHelp } = await import('./help/command-help.ts');
  const help = new PaddletHelp(subject, config, HELP_OPTIONS, isTopic);
  process.stdout.write(`${subject.summary}\n\n${help.generate()}\n`);
}

/** The longest run of leading words that names a command; a group of commands (`data`) shows its own overview. */
function resolveTarget(argv: readonly string[]): Target {
  const line = argv[0] === 'help' ? argv.slice(1) : argv;
  if (argv[0] === 'help' && argv.length === 2 && Object.hasOwn(TOPICS, argv[1]!)) {
    return { kind: 'topic', name: argv[1]! };
  }
  const flagAt = line.findIndex((word) => word.startsWith('-'));
  const words = flagAt === -1 ? line : line.slice(0, flagAt);
  for (let count = Math.min(words.length, 3); count > 0; count--) {
    const entry = commandNamed(words.slice(0, count).join(':'));
    if (entry !== undefined) return { kind: 'command', entry, rest: line.slice(count) };
  }
  if (words.length === 0 && (flagAt === -1 || isHelpWanted(argv))) return { kind: 'overview', under: undefined };
  const group = words.join(':');
  if (COMMANDS.some(({ id }) => id.startsWith(`${group}:`))) return { kind: 'overview', under: group };
  return { kind: 'unknown', words: words.length === 0 ? line.slice(0, 1) : words };
}

function isHelpWanted(argv: readonly string[]): boolean {
  return argv[0] === 'help' || beforeDashes(argv).some((word) => word === '--help' || word === '-h');
}

function isJsonWanted(argv: readonly string[]): boolean {
  return beforeDashes(argv).some((word) => word === '--json' || /^-j/.test(word));
}

function beforeDashes(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--');
  return end === -1 ? argv : argv.slice(0, end);
}

/**
 * Pre- and post-tasks: commands of the job that the master runs before the first pass and after the last. Each is
 * noted in the store before it begins and when it has succeeded, so that another master, or a job that is resumed,
 * does not run it again. One that was cut short in between is run again, and the log says so: at least once, exactly
 * once without faults.
 */
import * as z from 'zod';
import { assert } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import type { Shell } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { throwIfAborted } from '../../cluster/waiting.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { MasterInfoSource } from './info.ts';

const LAST_LINES = 10;
const LINE_CHARACTERS = 500;

const hookSchema = z.strictObject({
  state: z.enum(['running', 'done']),
  /** Seconds since 1970, of its begin. */
  since: z.number(),
});

export interface HookOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly fence: Fence;
  /** Undefined where no commands can be run, and none are wanted. */
  readonly shell: Shell | undefined;
  readonly folder: string;
  readonly stopSignal: AbortSignal;
  readonly info: Pick<MasterInfoSource, 'runsHook'>;
}

export type HookPhase = 'before' | 'after';

/** Runs those that are not done. Throws `HookFailed` for one that ends with another code than 0, `Interrupted`. */
export async function runHooks(
  options: HookOptions,
  phase: HookPhase,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  try {
    for (const [number, command] of options.record.job.hooks[phase].entries()) {
      await runHook(options, { phase, number, command, env });
    }
  } finally {
    options.info.runsHook(undefined);
  }
}

interface Hook {
  readonly phase: HookPhase;
  readonly number: number;
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

async function runHook(options: HookOptions, { phase, number, command, env }: Hook): Promise<void> {
  const { context, record, shell, folder, stopSignal } = options;
  const { log, clock } = context.host;
  const key = context.keys.hook(phase, number);
  const entry = await retryStore(context, () => context.store.get(key), stopSignal);
  const found = entry && parseStoreValue(hookSchema, key, entry.value);
  if (found?.state === 'done') return;
  const name = `hook ${phase}[${number}]`;
  if (found !== undefined)
    log.warn(`${name} was started, and its end was not recorded: running it again`, { since: found.since });
  assert(shell !== undefined, 'a master of a job with hooks can run commands');
  const since = clock.wallSeconds();
  throwIfAborted(stopSignal);
  await note(options, key, { state: 'running', since });
  log.info(`${name}: ${command}`, { folder });
  const startedMs = clock.monotonicMs();
  options.info.runsHook({ name, command });
  const lines: string[] = [];
  const end = await shell.run(command, {
    env: { PADDLET_JOB: record.job.name, PADDLET_JOB_ID: record.id, PADDLET_HOOK: phase, ...env },
    folder,
    signal: stopSignal,
    onLine: (line) => {
      log.info(`${name}: ${line.slice(0, LINE_CHARACTERS)}`);
      lines.push(line.slice(0, LINE_CHARACTERS));
      if (lines.length > LAST_LINES) lines.shift();
    },
  });
  throwIfAborted(stopSignal);
  if (end.code !== 0) {
    const how = end.code === null ? `was ended by ${end.signal}` : `ended with exit code ${end.code}`;
    const said =
      lines.length === 0 ? 'the command printed nothing' : `the last lines of its output:\n${lines.join('\n')}`;
    throw new PaddletError('HookFailed', `${name} (${command}) ${how}; ${said}`, {
      hint: 'fix the command, and start the job over (`paddlet run --fresh`)',
    });
  }
  await note(options, key, { state: 'done', since });
  log.info(`${name} is done`, { tookMs: Math.round(clock.monotonicMs() - startedMs) });
}

async function note({ context, fence, stopSignal }: HookOptions, key: string, value: z.infer<typeof hookSchema>) {
  const put = { put: key, value: JSON.stringify(value) };
  await retryStore(context, () => fencedTxn(context.store, fence, { then: [put] }), stopSignal);
}

/** The longest text that Linux hands to a command is 128 KiB. */
const RESULT_CHARACTERS = 100_000;

/**
 * The result in the environment of the commands after the last pass; without its list of checkpoints where that is
 * too long.
 */
export function resultEnv(result: { readonly checkpoints: unknown }): Record<string, string> {
  const whole = JSON.stringify(result);
  const { checkpoints: _, ...rest } = result;
  return { PADDLET_RESULT: whole.length <= RESULT_CHARACTERS ? whole : JSON.stringify(rest) };
}

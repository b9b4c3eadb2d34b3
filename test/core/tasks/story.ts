/**
 * Stories of the task queue, as raft keeps its interactions: a text of commands, each followed by `----` and the
 * effects that the queue answered with. README.md in stories/ has the commands.
 */
import type { AttemptRef } from '../../../src/core/tasks/address.ts';
import type { Phase, QueueEffect, QueueEvent } from '../../../src/core/tasks/events.ts';
import type { QueueChange } from '../../../src/core/tasks/state.ts';
import { QueueRig, sumsOf } from './queue-rig.ts';

const RULE = '----';

/** The story with the effects as they are now. Throws for a text that is no story. */
export function replay(text: string): string {
  const teller = new Teller();
  const blocks = text.trimEnd().split(/\n{2,}/);
  return `${blocks.map((block) => (block.startsWith('#') ? block : retold(teller, block))).join('\n\n')}\n`;
}

function retold(teller: Teller, block: string): string {
  const lines = block.split('\n');
  const end = lines.indexOf(RULE);
  const commands = end === -1 ? lines : lines.slice(0, end);
  const effects = commands.flatMap((command) => teller.run(command));
  return [...commands, RULE, ...(effects.length === 0 ? ['nothing'] : effects)].join('\n');
}

type Words = readonly string[];

class Teller {
  #rig: QueueRig | undefined;
  #request = 0;

  run(line: string): string[] {
    const [verb = '', ...words] = line.split(' ');
    if (verb === 'queue') return this.#begin(words);
    const rig = this.#started();
    if (verb === 'restart') {
      rig.takeOver();
      const found = rig.live().map(nameOf).join(', ') || 'no live attempt';
      return [`found ${found}`, ...rig.effectsOf({ type: 'roster', trainers: words }).map(describe)];
    }
    if (verb === 'wait') rig.now += numberIn(words[0]);
    return rig.effectsOf(verb === 'wait' ? { type: 'tick' } : this.#eventOf(verb, words)).map(describe);
  }

  #started(): QueueRig {
    if (this.#rig === undefined) throw new Error('a story begins with queue');
    return this.#rig;
  }

  #begin(words: Words): string[] {
    const options = Object.fromEntries(
      words.map((word) => {
        const [name = '', value] = word.split('=');
        return [name, numberIn(value)];
      }),
    );
    const { tasks = 0, ...others } = options;
    this.#rig = new QueueRig({ tasks, ...others });
    return [];
  }

  #eventOf(verb: string, [who = '', what, ...rest]: Words): QueueEvent {
    const request = ++this.#request;
    const rig = this.#started();
    switch (verb) {
      case 'joined':
      case 'gone':
        return { type: verb, trainer: who };
      case 'get':
        return { type: 'get', trainer: who, held: rig.heldBy(who), most: 1, request };
      case 'finish':
        return { type: 'finish', ...refIn(who, what), sums: sumsOf(10), request };
      case 'fail':
        return {
          type: 'fail',
          ...refIn(who, what),
          code: 'DataInvalid',
          error: 'line 3',
          data: true,
          read: 2,
          request,
        };
      case 'return':
        return { type: 'return', ...refIn(who, what), read: 0, request };
      case 'executes': {
        const { trainer, ...address } = refIn(who, what);
        const executing = { ...address, position: numberIn(rest[1]) };
        return { type: 'progress', trainer, executing, phase: rest[2] as Phase };
      }
      default:
        throw new Error(`no command of a story: ${verb}`);
    }
  }
}

function numberIn(text: string | undefined): number {
  const number = Number(text);
  if (text === undefined || !Number.isInteger(number)) throw new Error(`a story needs a whole number, not ${text}`);
  return number;
}

/** `pass/task#attempt`. */
function refIn(trainer: string, text: string | undefined): AttemptRef {
  const found = /^(\d+)\/(\d+)#(\d+)$/.exec(text ?? '');
  if (found === null) throw new Error(`a story names an attempt as pass/task#attempt, not ${text}`);
  const [pass = 0, task = 0, attempt = 0] = found.slice(1).map(Number);
  return { queue: 'train', pass, task, attempt, trainer };
}

const nameOf = ({ pass, task, attempt, trainer }: AttemptRef): string => `${pass}/${task}#${attempt} of ${trainer}`;

function describe(effect: QueueEffect): string {
  switch (effect.type) {
    case 'save':
      return `save ${effect.changes.map(describeChange).join('; ')}`;
    case 'deal':
      return `deal ${nameOf(effect.attempt)}`;
    case 'refuse':
      return `refuse ${effect.code}: ${effect.message}`;
    case 'speculated':
      return `speculated ${effect.pass}/${effect.task} for ${effect.trainer}, as ${effect.slow} is slow`;
    case 'requeued':
      return `requeued ${effect.pass}/${effect.task}: ${effect.why}`;
    case 'discarded':
      return `discarded ${effect.task.pass}/${effect.task.task}: ${effect.task.code}: ${effect.task.error}`;
    case 'passEnded': {
      const { done, discarded, sums } = effect.totals;
      return `passEnded ${effect.pass}: done ${done}, discarded ${discarded}, good ${sums.good}, read ${sums.read}`;
    }
    case 'failed':
      return `failed by ${effect.discarded.pass}/${effect.discarded.task}`;
    case 'none':
    case 'accept':
    case 'ended':
      return effect.type;
  }
}

function describeChange(change: QueueChange): string {
  switch (change.kind) {
    case 'state':
      return `state ${change.value.phase} pass ${change.value.pass}`;
    case 'block': {
      const open = Object.entries(change.value.open).map(([task, { attempts, failures }]) => {
        const live = attempts.map(({ attempt, trainer }) => `#${attempt} of ${trainer}`).join(' and ');
        return `task ${task} ${live || 'idle'}${failures === 0 ? '' : `, failures ${failures}`}`;
      });
      return `block ${change.pass}/${change.block} (done ${change.value.done}${open.map((one) => `, ${one}`).join('')})`;
    }
    case 'totals':
      return `totals of pass ${change.pass}`;
    case 'discarded':
      return `discarded task ${change.task}`;
    case 'dropBlocks':
      return `drop the blocks of pass ${change.pass}`;
  }
}

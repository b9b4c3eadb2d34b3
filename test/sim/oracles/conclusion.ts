/** What repairs and the end of a job rest on. */
import { isPaddletError } from '../../../src/base/errors.ts';
import type { Cut } from '../../../src/checkpoint/registry/cut.ts';
import type { SimulatedProcess } from '../process.ts';
import type { LedUnits } from './led-units.ts';
import type { Answered, Oracle, World } from './oracle.ts';

interface ResultValue {
  readonly checkpoints?: readonly { readonly uuid: string }[];
}

export function conclusion(world: World, led: LedUnits): Oracle {
  const { keys } = world;
  /** By unit: the highest recovery number under which its primary said which tasks are closed. */
  const asked = new Map<number, number>();
  const raised = new WeakMap<SimulatedProcess, number>();
  /** By unit: the recovery number that its primary had raised when it took the unit. */
  const takenUnder = new Map<number, number>();
  const numberIn = (value: string): number => (JSON.parse(value) as { number: number }).number;

  function checkReconciled(number: number): void {
    for (const unit of led.all) {
      if ((asked.get(unit) ?? 0) >= number) continue;
      world.violated(`recovery ${number} is repaired by answers about unit ${unit} from before it was seen there`);
    }
  }

  function checkResult(value: string): void {
    const { checkpoints } = JSON.parse(value) as ResultValue;
    if (checkpoints === undefined) return;
    const recovery = Number(world.get(keys.recovery)?.value ?? 0);
    const reconciled = world.get(keys.tasksReconciled);
    const repaired = reconciled === undefined ? 0 : numberIn(reconciled.value);
    if (recovery > repaired) world.violated(`the result was published though recovery ${recovery} is not repaired`);
    if (world.mode === 'async') return;
    const cut = JSON.parse(world.get(keys.cut)!.value) as Cut;
    const names = (some: readonly { uuid: string }[]): string => some.map(({ uuid }) => uuid).join(' ');
    if (names(checkpoints) !== names(cut.files)) world.violated('the result does not name the files of the last cut');
  }

  /**
   * Updates may be missing in a unit that was taken under a number. A pserver that takes others while it saves those it
   * leads has nothing to repair in these; and the number keeps the result from being published.
   */
  function checkLast(answered: Answered, recovery: number): void {
    for (const unit of led.meant(answered) ?? []) {
      const under = takenUnder.get(unit) ?? 0;
      if (under <= recovery) continue;
      const { name } = answered.server;
      world.violated(
        `${name} took the last checkpoint of recovery ${recovery} with unit ${unit}, taken under ${under}`,
      );
    }
  }

  return {
    wrote(written) {
      const { process, key, value } = written;
      const change = led.changed(written);
      if (change?.isMove === false) takenUnder.set(change.unit, raised.get(process) ?? 0);
      if (key === keys.recovery) raised.set(process, Number(value));
      else if (key === keys.tasksReconciled) checkReconciled(numberIn(value));
      else if (key === keys.result) checkResult(value);
    },
    answered(answered) {
      const { server, request, outcome } = answered;
      if (isPaddletError(outcome) || server.role !== 'pserver') return;
      if (outcome.type === 'closed') {
        for (const unit of led.meant(answered) ?? []) {
          asked.set(unit, Math.max(asked.get(unit) ?? 0, outcome.recovery));
        }
      }
      if (request.type === 'checkpoint' && request.final) checkLast(answered, request.recovery ?? 0);
    },
  };
}

/**
 * A unit has one process that answers for it. The process that answers a request leads, in the store and at that
 * moment, each unit that the request means: no update is applied and no value read under an old head.
 */
import { isPaddletError } from '../../../src/base/errors.ts';
import type { LedUnits } from './led-units.ts';
import type { Oracle, World } from './oracle.ts';

export function leading(world: World, led: LedUnits): Oracle {
  return {
    wrote(written) {
      const change = led.changed(written);
      if (change?.before === undefined) return;
      const { unit, head, before, isMove, isPromotion } = change;
      const { process } = written;
      if (!isMove) {
        if (isPromotion) world.count('unit promoted');
        else if (led.hasCopy(before))
          world.violated(`${process.name} took unit ${unit} from files although a live process has a copy of it`);
        else if (head.primary.index !== before.primary.index) world.count('unit taken over');
        return;
      }
      world.count('unit moved');
      if (led.tokenOf(process) !== before.primary.token) {
        world.violated(`${process.name} gave unit ${unit} away, which pserver ${before.primary.index} leads`);
      }
      if (!led.isLive(head.primary)) {
        world.violated(`${process.name} gave unit ${unit} to pserver ${head.primary.index}, which has lost its index`);
      }
    },
    answered(answered) {
      const { client, server, request, outcome } = answered;
      if (server.role !== 'pserver' || isPaddletError(outcome) || !('placement' in request)) return;
      // Nothing tells it that its machine slept; and a stranger may have asked between two units that came.
      if (server.hadStoppedClock || client.role === 'stranger' || request.placement === undefined) return;
      const units = led.meant(answered);
      if (units === undefined) {
        world.violated(`${server.name} answered '${request.type}' for units that it never led together`);
        return;
      }
      const token = led.tokenOf(server);
      for (const unit of units) {
        const primary = led.head(unit)?.primary;
        if (primary === undefined || primary.token === token) continue;
        world.violated(`${server.name} answered '${request.type}' for unit ${unit}, led by pserver ${primary.index}`);
      }
    },
  };
}

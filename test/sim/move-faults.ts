/** What goes wrong at a certain point of the next move of a unit, if there is one while the fault lasts. */
import type { Cancel } from '../../src/base/seams.ts';
import type { MoveName } from '../../src/core/units/move-messages.ts';
import type { Cluster } from './cluster.ts';
import { type Action, happened, type PlannedFault } from './fault.ts';
import type { MoveKind } from './fault-kinds.ts';
import { KEYS } from './job-keys.ts';
import type { Answered } from './oracles/oracle.ts';
import { resize } from './resizing.ts';
import type { Supervisor } from './supervisor.ts';

/** After so many messages of moves, and so many operations of the process more. */
const MESSAGES = [0, 12] as const;
const OPERATIONS = [0, 12] as const;

const pserver = (cluster: Cluster, index: number): Supervisor => cluster.named(`pserver ${index}`);

/** There is no move without a reason. */
const PROVOKED = 0.7;

/** Calls it at a message of a move. */
function inMove(cluster: Cluster, fault: PlannedFault, run: (move: MoveName) => void): Cancel {
  const { dice } = fault;
  if (dice.chance(PROVOKED)) resize(cluster, fault);
  let left = dice.whole(...MESSAGES);
  let cancel: Cancel = () => {};
  const wait = (): void => {
    cancel = cluster.witness.onceMoving((seen) => {
      if (left === 0) run(moveIn(seen));
      else {
        left -= 1;
        wait();
      }
    });
  };
  wait();
  return () => cancel();
}

function moveIn({ request }: Answered): MoveName {
  if (!('move' in request)) throw new Error('a message of a move has its name');
  return request.move;
}

function isHandOver({ put, value }: { put: string; value: string }, process: string): boolean {
  if (!put.startsWith(KEYS.headsPrefix)) return false;
  const { primary } = JSON.parse(value) as { primary: { index: number } };
  return process !== `pserver ${primary.index}`;
}

export const IN_MOVES: Readonly<Record<MoveKind, Action>> = {
  'death in a move': (cluster, fault) =>
    inMove(cluster, fault, ({ unit, source, target }) => {
      const { dice } = fault;
      const master = cluster.supervisors.filter(({ member }) => member.role === 'master');
      const whose = dice.pick(['source', 'source', 'target', 'target', 'master'] as const);
      const one =
        whose === 'master' ? dice.pick(master) : pserver(cluster, whose === 'source' ? source.index : target.index);
      const process = one.running;
      if (process === undefined) return;
      const silently = dice.chance(0.3);
      const at = process.operations + dice.whole(...OPERATIONS);
      process.onOperation = () => {
        if (process.operations < at || one.running !== process) return;
        happened(cluster, fault, `${process.name}, ${whose} of unit ${unit}${silently ? ', silently' : ''}`);
        one.kill(silently);
      };
    }),
  'cut in a move': (cluster, fault) =>
    inMove(cluster, fault, ({ source, target }) => {
      const { dice } = fault;
      const [from, to] = [`pserver ${source.index}`, `pserver ${target.index}`];
      const between = [...cluster.network.connections].filter(
        ({ client, server }) => client.name === from && server.name === to,
      );
      if (between.length === 0) return;
      happened(cluster, fault, `from ${from} to ${to}`);
      for (const connection of between) connection.sever(dice.chance(0.7), dice.chance(0.7));
    }),
  'trouble in a hand-over': (cluster, fault) => {
    const { store, timeline } = cluster;
    const { dice } = fault;
    if (dice.chance(PROVOKED)) resize(cluster, fault);
    return store.onceWriting(
      (op, process) => isHandOver(op, process.name),
      ({ name }) => {
        const how = dice.pick(['cut off', 'unreachable', 'calls fail, or seem to'] as const);
        happened(cluster, fault, `${name}: the store: ${how}`);
        const cancel =
          how === 'cut off' ? store.cutOff(name) : how === 'unreachable' ? store.outage(true) : store.makeTrouble(0.8);
        cluster.faultBegins();
        timeline.after(dice.between(100, 6_000), () => {
          cancel();
          cluster.faultEnds();
        });
      },
    );
  },
};

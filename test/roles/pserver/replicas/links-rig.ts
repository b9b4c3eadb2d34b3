/** A host of links between units that note what they are told and connections that do what a test says. */
import type { ReplicaEffect } from '../../../../src/core/replicas/events.ts';
import { isIn, type LinkName, type ReplicaFrame } from '../../../../src/core/replicas/messages.ts';
import { type PeerBatch, roomOfPart, type SharedPayload } from '../../../../src/core/replicas/peer-link.ts';
import { isSameOwner, type UnitOwner } from '../../../../src/core/units/move-messages.ts';
import { LinksHost } from '../../../../src/roles/pserver/replicas/links-host.ts';
import type { ConnectPeerOptions } from '../../../../src/roles/pserver/replicas/peer-connections.ts';
import { A, B, C } from '../../../core/replicas/copies.ts';
import { MemoryLog } from '../../../protocol/rig.ts';
import { FakeClock } from '../../../store/support.ts';
import { UNTIMED } from '../untimed.ts';

export const PART = roomOfPart(100);
export const SILENCE_MS = 1_600;

/** To one peer, as the host has it. */
class Connection {
  readonly options: ConnectPeerOptions;
  readonly sent: PeerBatch<SharedPayload>[] = [];
  reconnects = 0;
  isClosed = false;

  constructor(options: ConnectPeerOptions) {
    this.options = options;
  }

  send(batch: PeerBatch<SharedPayload>): void {
    this.sent.push(batch);
  }

  reconnect(): void {
    this.reconnects += 1;
    this.options.onClosed();
  }

  close(): void {
    this.isClosed = true;
  }
}

export class LinksRig {
  readonly clock = new FakeClock();
  readonly log = new MemoryLog();
  readonly host: LinksHost<SharedPayload>;
  /** All that were made. */
  readonly connections: Connection[] = [];
  readonly told: string[] = [];
  readonly fatal: unknown[] = [];
  reachable: readonly UnitOwner[] = [B, C];
  /** Runs within a call of the units. */
  within: (call: string) => void = () => {};

  constructor() {
    const { clock, log } = this;
    this.host = new LinksHost({
      ...{
        clock,
        log,
        times: UNTIMED,
        silenceMs: SILENCE_MS,
        maxInFlight: 2,
        onFatal: (error) => this.fatal.push(error),
      },
      addressOf: (peer) => (isIn(this.reachable, peer) ? `host:${peer.index}` : undefined),
      connect: (options) => {
        const connection = new Connection(options);
        this.connections.push(connection);
        return connection;
      },
      units: {
        connected: ({ index }) => this.tell(`connected ${index}`),
        heard: ({ index }) => this.tell(`heard ${index}`),
        answered: ({ unit }, answer) => this.tell(`answered ${unit} ${answer?.type ?? 'nothing'}`),
      },
    });
  }

  tell(call: string): void {
    this.told.push(call);
    this.within(call);
  }

  turn(): Promise<void> {
    return this.clock.advance(0);
  }

  /** The newest connection to the peer. */
  to(peer: UnitOwner): Connection {
    return this.connections.findLast(({ options }) => isSameOwner(options.peer, peer))!;
  }

  /** Of each batch: what its frames are, about which unit. */
  framesTo(peer: UnitOwner): string[] {
    const shown = ({ frames }: PeerBatch<SharedPayload>) =>
      frames.map(({ link, frame }) => `${frame.type} ${link.unit}`).join(', ');
    return this.to(peer).sent.map(shown);
  }

  /** These units have the peer, and there is a connection with room for so many parts of updates. */
  async linked(peer: UnitOwner, parts: number, ...units: number[]): Promise<void> {
    for (const unit of units) this.host.stepped(unit, [], [peer]);
    await this.turn();
    this.to(peer).options.onOpened(parts * PART);
    await this.turn();
  }
}

const linkTo = (unit: number, member: UnitOwner): LinkName => ({ unit, epoch: 1, primary: A, member });

export const staged = (through: number, committed = 0) => ({ type: 'staged', through, committed }) as const;

export const send = (
  unit: number,
  member: UnitOwner,
  frame: ReplicaFrame<SharedPayload>,
): ReplicaEffect<SharedPayload> => ({ type: 'send', link: linkTo(unit, member), frame });

export const begin: ReplicaFrame<SharedPayload> = { type: 'begin', base: 0, tail: [], committed: 0 };

export const stage = (payload: SharedPayload, position: number): ReplicaFrame<SharedPayload> => ({
  type: 'stage',
  update: { name: { position, epoch: 1 }, payload },
  committed: 0,
});

export const sizes = (...units: number[]) => new Map(units.map((unit) => [unit, 100]));

export const payload = (order: number, ...units: number[]): SharedPayload => ({ order, bytesByUnit: sizes(...units) });

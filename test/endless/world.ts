/**
 * A job in one process: some pservers with shards, their copies and files. Updates, repairs, discards, saves, moves,
 * promotions, deaths and restores come in an order that the seed decides. After each of them, every copy of a shard is
 * compared with a reference that has applied the same updates and was never saved, moved or copied.
 */
import { assert } from '../../src/base/assert.ts';
import { createDice, type Dice } from '../sim/dice.ts';
import { captureWhole, restored } from './carry.ts';
import { type File, Files, type SavedCopy } from './files.ts';
import { Memory } from './memory.ts';
import type { JobRules } from './rules.ts';
import { Shard, textOf } from './shard.ts';
import { CLOSED, type Gradients, type Position, type ShardUpdate } from './update.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly rules: JobRules;
  readonly mode: 'async' | 'sync';
  /** 1 or 2. */
  readonly copies: number;
  readonly passes: number;
  /** Pushes of a task. */
  readonly pushes: number;
}

/** What a shard has applied, and its state after each update. */
class Lineage {
  readonly log: ShardUpdate[] = [];
  readonly texts: string[];
  readonly reference: Shard;

  constructor(rules: JobRules, shard: number, log: readonly ShardUpdate[] = []) {
    this.reference = new Shard(rules, shard);
    this.texts = [textOf(this.reference.state)];
    for (const update of log) this.apply(update);
  }

  apply(update: ShardUpdate): void {
    this.reference.apply(update);
    this.log.push(update);
    this.texts.push(textOf(this.reference.state));
  }
}

interface Copy {
  readonly memory: Memory;
  /** Updates that the copy has, and has not applied. */
  readonly staged: ShardUpdate[];
}

interface Pending {
  readonly file: File;
  /** The memories that were captured, which may have left this process by now. */
  readonly memories: ReadonlyMap<number, Memory>;
}

class Pserver {
  readonly copies = new Map<number, Copy>();
  /** Files whose publication has no known outcome: at most one. */
  pending: Pending[] = [];
  filesSinceBase = Number.POSITIVE_INFINITY;
}

interface Cut {
  readonly files: readonly number[];
  readonly logs: readonly (readonly ShardUpdate[])[];
}

const DELTAS_PER_BASE = 3;
const IDS = 60;
const HIGH_BIT = 1n << 63n;

export class World {
  readonly #options: WorldOptions;
  readonly #dice: Dice;
  readonly #lineages: Lineage[];
  readonly #kept: number;
  readonly #files: Files;
  #pservers: Pserver[] = [];
  /** By shard. */
  readonly #leaders: Pserver[] = [];
  readonly #backups: (Pserver | undefined)[] = [];
  /** A pserver to which the shard moves. */
  readonly #targets: (Pserver | undefined)[] = [];
  readonly #epochs: number[];
  #cuts: Cut[] = [];
  #nextFile = 1;
  /** How often each thing happened. */
  readonly counts = new Map<string, number>();

  constructor(options: WorldOptions) {
    const { seed, rules } = options;
    this.#options = options;
    this.#dice = createDice(seed, 'endless world');
    this.#kept = this.#dice.whole(1, 2);
    this.#files = new Files(this.#kept);
    this.#lineages = this.#shards().map((shard) => new Lineage(rules, shard));
    this.#epochs = this.#shards().map(() => 0);
    this.#start(this.#dice.whole(1, 3));
  }

  /** Takes some steps, then compares all that is left. */
  run(steps: number): void {
    for (let step = 0; step < steps && !this.#isDone(); step++) this.#step();
    for (const pserver of this.#pservers)
      for (const shard of pserver.copies.keys()) this.#catchUp(pserver, shard, Number.POSITIVE_INFINITY);
    for (const shard of this.#shards()) {
      const chain = this.#files.newest(shard);
      if (chain !== undefined) this.#checkChain(chain);
    }
  }

  /** The updates of each shard, which the rules of one shard are held against. */
  logs(): (readonly ShardUpdate[])[] {
    return this.#lineages.map(({ log }) => log);
  }

  #step(): void {
    const { mode, copies } = this.#options;
    const actions: [weight: number, name: string, action: () => void][] = [
      [40, 'update', () => this.#update()],
      [1, 'discard', () => this.#discard()],
      [4, 'move', () => this.#move()],
      [2, 'kill', () => this.#kill(this.#dice.pick(this.#pservers))],
      [1, 'restart', () => this.#restart()],
    ];
    if (mode === 'async') actions.push([14, 'save', () => this.#save()], [18, 'outcome', () => this.#outcome()]);
    else actions.push([6, 'cut', () => this.#cut()], [1, 'go back', () => this.#goBack()]);
    if (copies > 1)
      actions.push(
        [6, 'copy', () => this.#copy()],
        [10, 'catch up', () => this.#catchUpSome()],
        [3, 'hand over', () => this.#handOver()],
      );
    const all = actions.reduce((sum, [weight]) => sum + weight, 0);
    let left = this.#dice.between(0, all);
    for (const [weight, name, action] of actions) {
      left -= weight;
      if (left >= 0) continue;
      this.#count(name);
      action();
      return;
    }
  }

  // ---- updates

  #update(): void {
    const pass = this.#pass();
    const first = this.#position(pass);
    if (first === undefined) return;
    if (this.#options.mode === 'async') {
      const { task, push } = first;
      this.#deliver((shard) => {
        const isWanted = this.#next(shard, pass, task) === push;
        return isWanted ? { type: 'push', position: first, ...this.#gradients(shard, [first]) } : undefined;
      });
      return;
    }
    const second = this.#position(pass);
    const positions = second === undefined || second.task === first.task ? [first] : [first, second];
    const round = this.#lineages[0]!.reference.state.seq;
    this.#deliver((shard) => ({ type: 'round', round, positions, ...this.#gradients(shard, positions) }));
  }

  /** Mostly the first pass that is not complete, sometimes one of the next two. */
  #pass(): number {
    const first = Math.min(...this.#lineages.map(({ reference }) => reference.state.ledger.watermark()));
    return Math.min(first + this.#dice.pick([0, 0, 0, 0, 0, 0, 0, 1, 1, 2]), this.#options.passes - 1);
  }

  #position(pass: number): Position | undefined {
    const { rules, pushes } = this.#options;
    const task = this.#dice.whole(0, rules.tasks - 1);
    const push = Math.min(...this.#shards().map((shard) => this.#next(shard, pass, task)));
    return push === CLOSED ? undefined : { pass, task, push, last: push === pushes - 1 };
  }

  #next(shard: number, pass: number, task: number): number {
    return this.#lineages[shard]!.reference.state.ledger.next(pass, task);
  }

  /** The ids of a position are those of its data, whenever it is pushed. They drift from pass to pass. */
  #gradients(shard: number, positions: readonly Position[]): Gradients {
    const { seed, rules } = this.#options;
    const tables = rules.tables.map((_, table) => {
      const ids = positions.flatMap(({ pass, task, push }) => {
        const dice = createDice(seed, `${table} ${pass}/${task}/${push}`);
        // A few name more than a shard may have.
        const count = dice.chance(0.1) ? 40 : dice.whole(0, 9);
        return Array.from({ length: count }, () => {
          const id = BigInt(pass * 12 + Math.floor(IDS * dice.fraction() ** 2));
          return dice.chance(0.3) ? id | HIGH_BIT : id;
        });
      });
      const own = ids.filter((id) => Number(id % BigInt(rules.shards)) === shard);
      return new Map(own.map((id) => [id, this.#dice.whole(-50, 50)]));
    });
    return { tables, blocks: new Map(this.#dice.chance(0.5) ? [[shard, this.#dice.whole(-50, 50)]] : []) };
  }

  #discard(): void {
    const { passes, rules } = this.#options;
    const from = this.#pass();
    const task = this.#dice.whole(0, rules.tasks - 1);
    // The first task is never discarded, so that every pass trains something.
    if (task === 0) return;
    for (let pass = from; pass < passes; pass++)
      this.#deliver((shard) => (this.#next(shard, pass, task) === CLOSED ? undefined : { type: 'close', pass, task }));
  }

  #deliver(make: (shard: number) => ShardUpdate | undefined): void {
    for (const shard of this.#shards()) {
      const update = make(shard);
      if (update === undefined) continue;
      this.#lineages[shard]!.apply(update);
      this.#apply(this.#leaders[shard]!, shard, update);
      const target = this.#targets[shard];
      if (target !== undefined) this.#apply(target, shard, update);
      this.#backups[shard]?.copies.get(shard)?.staged.push(update);
    }
  }

  #apply(pserver: Pserver, shard: number, update: ShardUpdate): void {
    const { memory } = pserver.copies.get(shard)!;
    memory.apply(update);
    this.#checkCopy(memory);
  }

  // ---- copies

  #move(): void {
    const shard = this.#dice.pick(this.#shards());
    const target = this.#targets[shard];
    if (target === undefined) {
      const others = this.#pservers.filter((one) => !one.copies.has(shard));
      if (others.length === 0) return;
      this.#targets[shard] = this.#dice.pick(others);
      this.#transfer(shard, this.#targets[shard]!);
      return;
    }
    this.#targets[shard] = undefined;
    this.#leaders[shard]!.copies.delete(shard);
    this.#lead(shard, target);
  }

  #copy(): void {
    const shard = this.#dice.pick(this.#shards());
    const others = this.#pservers.filter((one) => !one.copies.has(shard));
    if (others.length === 0 || this.#backups[shard] !== undefined) return;
    this.#backups[shard] = this.#dice.pick(others);
    this.#transfer(shard, this.#backups[shard]!);
  }

  #transfer(shard: number, to: Pserver): void {
    const { rules } = this.#options;
    const { state } = this.#leaders[shard]!.copies.get(shard)!.memory.shard;
    const memory = new Memory(rules, shard, restored(rules, [captureWhole(shard, state)]));
    to.copies.set(shard, { memory, staged: [] });
    this.#checkCopy(memory);
  }

  #catchUpSome(): void {
    const shard = this.#dice.pick(this.#shards());
    const backup = this.#backups[shard];
    if (backup !== undefined) this.#catchUp(backup, shard, this.#dice.whole(1, 5));
  }

  #catchUp(pserver: Pserver, shard: number, most: number): void {
    const { staged } = pserver.copies.get(shard)!;
    for (const update of staged.splice(0, most)) this.#apply(pserver, shard, update);
  }

  #handOver(): void {
    const shard = this.#dice.pick(this.#shards());
    const [leader, backup] = [this.#leaders[shard]!, this.#backups[shard]];
    if (backup === undefined) return;
    this.#promote(shard, backup);
    this.#backups[shard] = leader;
  }

  #promote(shard: number, backup: Pserver): void {
    this.#catchUp(backup, shard, Number.POSITIVE_INFINITY);
    backup.copies.get(shard)!.memory.forgetParent();
    this.#backups[shard] = undefined;
    this.#lead(shard, backup);
  }

  #lead(shard: number, pserver: Pserver): void {
    this.#leaders[shard] = pserver;
    this.#epochs[shard]! += 1;
  }

  // ---- files

  #save(): void {
    const pserver = this.#dice.pick(this.#pservers);
    // Until the outcome of a publication is known, nothing is captured: a whole copy in it would replace the parent.
    if (pserver.pending.length > 0) return;
    const isDelta = pserver.filesSinceBase < DELTAS_PER_BASE;
    const captured = this.#ledBy(pserver).map((shard) => {
      const { memory } = pserver.copies.get(shard)!;
      return [shard, memory, memory.capture(isDelta)] as const;
    });
    if (captured.length === 0) return;
    const copies = captured.map(([shard, , one]) => [shard, this.#savedCopy(shard, one)] as const);
    const memories = new Map(captured.map(([shard, memory]) => [shard, memory]));
    pserver.pending.push({ file: this.#newFile(new Map(copies)), memories });
    pserver.filesSinceBase = isDelta ? pserver.filesSinceBase + 1 : 0;
  }

  #savedCopy(shard: number, captured: ReturnType<Memory['capture']>): SavedCopy {
    const { log, texts } = this.#lineages[shard]!;
    const { seq } = captured.saved;
    return { ...captured, epoch: this.#epochs[shard]!, log: log.slice(0, seq), text: texts[seq]! };
  }

  #newFile(copies: ReadonlyMap<number, SavedCopy>): File {
    const file = { number: this.#nextFile, copies };
    this.#nextFile += 1;
    return file;
  }

  #outcome(): void {
    const pserver = this.#dice.pick(this.#pservers);
    if (pserver.pending.length === 0) return;
    const pending = this.#dice.pick(pserver.pending);
    pserver.pending = pserver.pending.filter((one) => one !== pending);
    this.#conclude(pending, this.#dice.chance(0.7));
  }

  #conclude({ file, memories }: Pending, isPublished: boolean): void {
    if (!isPublished) {
      this.#count('refused');
      for (const [shard, { saved }] of file.copies) memories.get(shard)!.refused(saved.seq);
      return;
    }
    this.#files.publish(file);
    for (const [shard, { saved }] of file.copies) memories.get(shard)!.published(file.number, saved.seq);
    this.#checkPublished(file);
    this.#deleteReplaced();
  }

  /** What was just published can be loaded, unless another process has replaced it in the meantime. */
  #checkPublished({ number, copies }: File): void {
    for (const [shard, { parent, epoch }] of copies) {
      this.#count(parent === undefined ? 'whole copy' : 'changes');
      const chain = this.#files.chainOf(shard, number);
      const isReplaced = this.#files.newest(shard)!.at(-1)!.epoch > epoch;
      assert(chain !== undefined || isReplaced, `shard ${shard} in file ${number} has all that its chain needs`);
      if (chain !== undefined) this.#checkChain(chain);
    }
  }

  #deleteReplaced(): void {
    const newest = (): (number | undefined)[] =>
      this.#shards().map((shard) => this.#files.newest(shard)?.at(-1)?.saved.seq);
    const whole = (): number[] => this.#shards().map((shard) => Math.min(this.#kept, this.#files.wholeCopies(shard)));
    const before = [newest().join(), whole().join()];
    for (const _ of this.#files.deleteReplaced()) this.#count('deleted');
    assert(newest().join() === before[0], 'deleting files leaves the newest copies');
    assert(whole().join() === before[1], 'deleting files leaves as many whole copies as are kept');
    for (const { files } of this.#cuts)
      for (const file of files)
        for (const shard of this.#shards())
          assert(!this.#isIn(file, shard) || this.#files.chainOf(shard, file) !== undefined, 'cuts stay whole');
  }

  #isIn(file: number, shard: number): boolean {
    return this.#files.chainOf(shard, file) !== undefined;
  }

  // ---- deaths and restores

  #kill(pserver: Pserver): void {
    for (const { file } of pserver.pending) if (this.#dice.chance(0.5)) this.#files.publish(file);
    this.#pservers = this.#pservers.filter((one) => one !== pserver);
    this.#pservers.push(new Pserver());
    this.#forgetCopies(pserver);
    const orphans = this.#ledBy(pserver).filter((shard) => {
      const backup = this.#backups[shard];
      if (backup !== undefined) this.#promote(shard, backup);
      return backup === undefined;
    });
    if (orphans.length > 0) this.#restore(orphans);
  }

  /** Copies on a dead pserver, and copies that it was making. */
  #forgetCopies(dead: Pserver): void {
    for (const shard of this.#shards()) {
      if (this.#backups[shard] === dead) this.#backups[shard] = undefined;
      const target = this.#targets[shard];
      if (target === undefined || (target !== dead && this.#leaders[shard] !== dead)) continue;
      target.copies.delete(shard);
      this.#targets[shard] = undefined;
    }
  }

  #restore(orphans: readonly number[]): void {
    if (this.#options.mode === 'sync') this.#goBack();
    else for (const shard of orphans) this.#load(shard, this.#dice.pick(this.#pservers));
  }

  /** All pservers stop, and others start, mostly another number of them. */
  #restart(): void {
    for (const pserver of this.#pservers) {
      for (const pending of pserver.pending) this.#conclude(pending, this.#dice.chance(0.5));
    }
    this.#start(this.#dice.whole(1, 4));
  }

  #start(pservers: number): void {
    this.#pservers = Array.from({ length: pservers }, () => new Pserver());
    if (this.#options.mode === 'sync') this.#goBack();
    else for (const shard of this.#shards()) this.#load(shard, this.#pservers[shard % pservers]!);
  }

  /** Async mode. Some files cannot be read: a link that is broken leaves what is whole before it. */
  #load(shard: number, pserver: Pserver): void {
    const broken = new Map<number, boolean>();
    const isReadable = (file: number): boolean => {
      if (!broken.has(file)) broken.set(file, this.#dice.chance(0.1));
      return broken.get(file) === false;
    };
    const chain = this.#files.newest(shard, isReadable);
    if (chain !== undefined && chain.length > 1) this.#count('chain loaded');
    this.#put(shard, pserver, chain);
  }

  #put(shard: number, pserver: Pserver, chain: readonly SavedCopy[] | undefined): void {
    const { rules } = this.#options;
    for (const other of [this.#leaders[shard], this.#backups[shard], this.#targets[shard]]) other?.copies.delete(shard);
    this.#backups[shard] = undefined;
    this.#targets[shard] = undefined;
    this.#lineages[shard] = new Lineage(rules, shard, chain?.at(-1)?.log);
    const state =
      chain === undefined
        ? undefined
        : restored(
            rules,
            chain.map(({ saved }) => saved),
          );
    const memory = new Memory(rules, shard, state ?? new Shard(rules, shard).state);
    pserver.copies.set(shard, { memory, staged: [] });
    this.#lead(shard, pserver);
    this.#checkCopy(memory);
  }

  // ---- sync mode

  /** While the shards are captured, rounds go on. */
  #cut(): void {
    const led = this.#pservers.filter((pserver) => this.#ledBy(pserver).length > 0);
    for (const shard of this.#shards()) this.#memoryOf(shard).beginCut();
    const logs = this.#lineages.map(({ log }) => [...log]);
    for (let rounds = this.#dice.whole(0, 6); rounds > 0; rounds--) this.#update();
    let isComplete = true;
    const files = led.map((pserver) => {
      const isDelta = pserver.filesSinceBase < DELTAS_PER_BASE;
      pserver.filesSinceBase = isDelta ? pserver.filesSinceBase + 1 : 0;
      const shards = this.#ledBy(pserver);
      const memories = new Map(shards.map((shard) => [shard, this.#memoryOf(shard)]));
      const copies = shards.map((shard) => {
        return [shard, this.#savedCopy(shard, memories.get(shard)!.captureCut(isDelta))] as const;
      });
      const file = this.#newFile(new Map(copies));
      const isPublished = this.#dice.chance(0.8);
      isComplete &&= isPublished;
      this.#files.held.add(file.number);
      this.#conclude({ file, memories }, isPublished);
      return file.number;
    });
    if (isComplete) this.#cuts.push({ files, logs });
    else for (const file of files) this.#files.held.delete(file);
    for (const old of this.#cuts.splice(0, this.#cuts.length - this.#kept))
      for (const file of old.files) this.#files.held.delete(file);
    this.#deleteReplaced();
  }

  #goBack(): void {
    const cut = this.#cuts.at(-1);
    for (const shard of this.#shards()) {
      const chains = cut?.files.map((file) => this.#files.chainOf(shard, file)).filter((chain) => chain !== undefined);
      assert(cut === undefined || chains!.length === 1, `shard ${shard} is in the cut once`);
      this.#put(shard, this.#dice.pick(this.#pservers), chains?.[0]);
    }
  }

  // ---- checks

  /** A copy is what its updates make of it, wherever it has been. */
  #checkCopy({ shard: { state, number } }: Memory): void {
    const expected = this.#lineages[number]!.texts[state.seq];
    assert(textOf(state) === expected, `shard ${number} at ${state.seq}:\n${textOf(state)}\nexpected\n${expected}`);
  }

  #checkChain(chain: readonly SavedCopy[]): void {
    const { text } = chain.at(-1)!;
    const loaded = textOf(
      restored(
        this.#options.rules,
        chain.map(({ saved }) => saved),
      ),
    );
    assert(loaded === text, `a chain of ${chain.length}:\n${loaded}\nexpected\n${text}`);
  }

  #memoryOf(shard: number): Memory {
    return this.#leaders[shard]!.copies.get(shard)!.memory;
  }

  #ledBy(pserver: Pserver): number[] {
    return this.#shards().filter((shard) => this.#leaders[shard] === pserver);
  }

  #shards(): number[] {
    return Array.from({ length: this.#options.rules.shards }, (_, shard) => shard);
  }

  #isDone(): boolean {
    return this.#lineages.every(({ reference }) => reference.state.ledger.watermark() >= this.#options.passes);
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

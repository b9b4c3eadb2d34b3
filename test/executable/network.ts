/**
 * A network of machines on one: a network namespace for each machine, joined by a bridge. The test itself reaches all
 * of them, whatever is cut between them. It takes root, `ip` (iproute2) and `iptables`.
 */
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

const BITS = 24;

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** The reason to skip tests that need one, or undefined. */
export function whyNoNetwork(): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root, for network namespaces';
  try {
    const network = new TestNetwork(['a', 'b']);
    try {
      network.cut('a', 'b');
      return undefined;
    } finally {
      network.remove();
    }
  } catch (error) {
    return `it needs network namespaces, ip and iptables: ${(error as Error).message.trim().split('\n').at(-1)}`;
  }
}

export class TestNetwork {
  readonly #machines: readonly string[];
  /** In names of namespaces and devices, which have at most 15 characters. */
  readonly #mark = randomInt(2 ** 24).toString(36);
  /** Of addresses that no other network has, with luck. */
  readonly #prefix = `10.${randomInt(200, 255)}.${randomInt(1, 255)}`;
  readonly #made: (() => void)[] = [];
  readonly #removeAtExit = (): void => this.remove();

  constructor(machines: readonly string[]) {
    this.#machines = machines;
    process.once('exit', this.#removeAtExit);
    try {
      this.#make();
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  addressOf(machine: string): string {
    return `${this.#prefix}.${this.#machines.indexOf(machine) + 1}`;
  }

  /** The command line that runs `command` on the machine. */
  on(machine: string, command: readonly string[]): string[] {
    return ['ip', 'netns', 'exec', this.#namespaceOf(machine), ...command];
  }

  /** Nothing that `from` sends arrives at `to` any more. */
  cutOneWay(from: string, to: string): void {
    run(...this.#ipTables(to), '-A', 'INPUT', '-s', this.addressOf(from), '-j', 'DROP');
  }

  /** Nothing arrives either way. */
  cut(machine: string, ...others: readonly string[]): void {
    for (const other of others) {
      this.cutOneWay(machine, other);
      this.cutOneWay(other, machine);
    }
  }

  /** From all others, and from nothing else: the test still reaches it. */
  isolate(machine: string): void {
    this.cut(machine, ...this.#machines.filter((other) => other !== machine));
  }

  /** All that was cut is whole again. */
  heal(): void {
    for (const machine of this.#machines) run(...this.#ipTables(machine), '-F', 'INPUT');
  }

  /** What runs on the machines is to be ended before. */
  remove(): void {
    for (const unmake of this.#made.splice(0).reverse()) unmake();
    process.off('exit', this.#removeAtExit);
  }

  #make(): void {
    const bridge = `pdl${this.#mark}`;
    this.#create(['link', 'add', bridge, 'type', 'bridge'], ['link', 'del', bridge]);
    run('ip', 'addr', 'add', `${this.#prefix}.254/${BITS}`, 'dev', bridge);
    run('ip', 'link', 'set', bridge, 'up');
    for (const [at, machine] of this.#machines.entries()) {
      const namespace = this.#namespaceOf(machine);
      const link = `v${at}-${this.#mark}`;
      this.#create(['netns', 'add', namespace], ['netns', 'del', namespace]);
      run('ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
      run('ip', 'link', 'set', link, 'master', bridge, 'up');
      const inside = ['-n', namespace];
      run('ip', ...inside, 'addr', 'add', `${this.addressOf(machine)}/${BITS}`, 'dev', 'eth0');
      for (const device of ['lo', 'eth0']) run('ip', ...inside, 'link', 'set', device, 'up');
    }
  }

  #create(make: readonly string[], unmake: readonly string[]): void {
    run('ip', ...make);
    this.#made.push(() => void run('ip', ...unmake));
  }

  #namespaceOf = (machine: string): string => `pdl${this.#mark}-${machine}`;

  #ipTables(machine: string): [string, ...string[]] {
    // `-w`: another one may be running.
    return ['ip', 'netns', 'exec', this.#namespaceOf(machine), 'iptables', '-w'];
  }
}

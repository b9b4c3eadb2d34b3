/** What the processes of a run say of themselves, and the system of them, looked at while it trains. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROLES = ['trainer', 'pserver', 'master'] as const;
export type Role = (typeof ROLES)[number];

/** Sums over the processes of a role so far. */
export interface RoleLook {
  readonly processes: number;
  readonly cpuSeconds: number;
  /** Could have run, but had no core. */
  readonly lackedSeconds: number;
  /** Resident memory of the largest process. */
  readonly residentMiB: number;
}

export interface Look {
  readonly atMs: number;
  /** Trained on, by all trainers. */
  readonly records: number;
  /** Seconds of all trainers, by the name that they give the phase. */
  readonly phases: ReadonlyMap<string, number>;
  /** Seconds of all pservers. */
  readonly pserverPhases: ReadonlyMap<string, number>;
  /** Seconds of all trainers between two tasks. They are in the phases, too. */
  readonly changeoverSeconds: number;
  /** By trainers. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** In the pservers. */
  readonly rows: number;
  readonly roles: Readonly<Record<Role, RoleLook>>;
}

/** An answer takes a process 2.6 ms. */
export const LOOK_MS = 200;
const TIMEOUT_MS = 2_000;

export class Looks {
  readonly #pid: number;
  readonly #logs: string;
  readonly #processes: number;
  readonly #lookMs: number;
  readonly #looks: Look[] = [];
  readonly #done: Promise<void>;
  #isOver = false;

  /** `pid`: of `paddlet run`; `processes`: trainers and pservers that have to answer; `lookMs`: between two looks. */
  constructor(pid: number, logs: string, processes: number, lookMs: number) {
    this.#pid = pid;
    this.#logs = logs;
    this.#processes = processes;
    this.#lookMs = lookMs;
    this.#done = this.#look();
  }

  /** Those in which all answered. */
  async end(): Promise<readonly Look[]> {
    this.#isOver = true;
    await this.#done;
    return this.#looks;
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      const addresses = this.#addresses();
      if (addresses.length >= this.#processes) {
        const texts = await Promise.all(addresses.map(metricsAt));
        const atMs = performance.now();
        if (texts.every((text) => text !== undefined)) this.#looks.push({ atMs, ...read(texts), roles: this.#roles() });
      }
      await new Promise((go) => setTimeout(go, this.#lookMs));
    }
  }

  /** Addresses of trainers and pservers, from the first entries of their logs. */
  #addresses(): string[] {
    try {
      return readdirSync(this.#logs)
        .filter((name) => /^(?:trainer|pserver)-/.test(name))
        .flatMap((name) => / at (127\.\S+:\d+)/.exec(readFileSync(join(this.#logs, name), 'utf8'))?.[1] ?? []);
    } catch {
      // The job has not begun.
      return [];
    }
  }

  #roles(): Record<Role, RoleLook> {
    const children = readProc(this.#pid, `task/${this.#pid}/children`).trim().split(' ').filter(Boolean).map(Number);
    const ofRole = (role: Role): RoleLook => {
      const looks = children.filter((pid) => readProc(pid, 'cmdline').split('\0')[1] === role).map(lookAt);
      return {
        processes: looks.length,
        cpuSeconds: looks.reduce((sum, one) => sum + one.cpuSeconds, 0),
        lackedSeconds: looks.reduce((sum, one) => sum + one.lackedSeconds, 0),
        residentMiB: Math.max(0, ...looks.map((one) => one.residentMiB)),
      };
    };
    return { trainer: ofRole('trainer'), pserver: ofRole('pserver'), master: ofRole('master') };
  }
}

async function metricsAt(address: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return answer.ok ? await answer.text() : undefined;
  } catch {
    // It has not begun, or has ended.
    return undefined;
  }
}

/** Sums over the texts; a phase that has come since, or is gone, does no harm. */
export function read(texts: readonly string[]): Omit<Look, 'atMs' | 'roles'> {
  const trainers = texts.filter((text) => text.includes('paddlet_trainer_records_total'));
  const sum = (from: readonly string[], series: string, label = ''): number =>
    from.reduce((all, text) => all + seriesOf(text, series, label), 0);
  return {
    records: sum(trainers, 'paddlet_trainer_records_total'),
    phases: phasesOf(texts, 'trainer'),
    pserverPhases: phasesOf(texts, 'pserver'),
    changeoverSeconds: sum(trainers, 'paddlet_trainer_changeover_seconds_total'),
    sentBytes: sum(trainers, 'paddlet_wire_bytes_total', 'direction="sent"'),
    receivedBytes: sum(trainers, 'paddlet_wire_bytes_total', 'direction="received"'),
    rows: sum(texts, 'paddlet_pserver_rows'),
  };
}

function phasesOf(texts: readonly string[], role: 'trainer' | 'pserver'): Map<string, number> {
  const series = new RegExp(`^paddlet_${role}_phase_seconds_total\\{phase="([^"]+)"[^}]*\\} (\\S+)$`, 'gm');
  const phases = new Map<string, number>();
  for (const [, phase, seconds] of texts.flatMap((text) => [...text.matchAll(series)])) {
    phases.set(phase!, (phases.get(phase!) ?? 0) + Number(seconds));
  }
  return phases;
}

function seriesOf(text: string, series: string, label: string): number {
  return Number(new RegExp(`^${series}\\{[^}]*${label}[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
}

/**
 * Reads proc(5): processor time in ticks of 10 ms, run delay of the main thread in nanoseconds, resident memory in kB.
 */
function lookAt(pid: number): Omit<RoleLook, 'processes'> {
  const fields = readProc(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ');
  const ticks = Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  const [, lacked = 0] = readProc(pid, 'schedstat').split(' ').map(Number);
  const residentKb = Number(/VmRSS:\s+(\d+)/.exec(readProc(pid, 'status'))?.[1] ?? 0);
  return { cpuSeconds: ticks / 100, lackedSeconds: lacked / 1e9, residentMiB: residentKb / 1024 };
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    // It has ended.
    return '';
  }
}

/** A real Prometheus that scrapes a job by the files of examples/monitoring, in less time. */

import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import * as z from 'zod';
import { ROOT } from '../source-files.ts';
import type { Place } from './harness.ts';
import { eventually } from './run.ts';

export const MONITORING = join(ROOT, 'examples/monitoring');

/** The folder of `prometheus` and `promtool`: PADDLET_TEST_PROMETHEUS, else of PATH, else of fetch-prometheus.sh. */
export function findPrometheus(): string | undefined {
  const named = process.env.PADDLET_TEST_PROMETHEUS;
  const others = [...(process.env.PATH ?? '').split(':'), join(ROOT, '.cache/prometheus/usr/bin')];
  const folders = named === undefined || named === '' ? others : [named];
  return folders.find((folder) => ['prometheus', 'promtool'].every((name) => existsSync(join(folder, name))));
}

/** Times of alerts.yml in a test: seconds for minutes. */
export const SHORT = { waitSeconds: 3, quietSeconds: 15, windowSeconds: 60 };

/** Each replacement must have something to replace. */
function replaced(text: string, pairs: readonly (readonly [RegExp, string])[]): string {
  return pairs.reduce((now, [pattern, by]) => {
    expect(now, String(pattern)).toMatch(pattern);
    return now.replaceAll(pattern, by);
  }, text);
}

const shortRules = (rules: string): string =>
  replaced(rules, [
    [/for: \d+m$/gm, `for: ${SHORT.waitSeconds}s`],
    [/paddlet_master_quiet_seconds > \d+/g, `paddlet_master_quiet_seconds > ${SHORT.quietSeconds}`],
    [/\[(?:10|30)m\]/g, `[${SHORT.windowSeconds}s]`],
  ]);

const shortConfig = (config: string, master: string): string =>
  replaced(config, [
    [/_interval: 15s$/gm, '_interval: 1s'],
    [/http:\/\/127\.0\.0\.1:7164\//g, master],
  ]);

const answerSchema = z.object({
  status: z.literal('success'),
  data: z.object({
    result: z.array(z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) })),
  }),
});

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export class Prometheus {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** `master`: its URL, with a slash at the end. */
  static async start(place: Place, folder: string, master: string): Promise<Prometheus> {
    for (const [name, change] of [
      ['prometheus.yml', (text: string) => shortConfig(text, master)],
      ['alerts.yml', shortRules],
    ] as const) {
      writeFileSync(place.path(name), change(readFileSync(join(MONITORING, name), 'utf8')));
    }
    const address = `127.0.0.1:${await freePort()}`;
    const flags = ['--config.file=prometheus.yml', '--storage.tsdb.path=tsdb', `--web.listen-address=${address}`];
    place.startCommand('prometheus', [join(folder, 'prometheus'), ...flags, '--log.level=warn']);
    const prometheus = new Prometheus(`http://${address}`);
    await eventually(async () => expect((await fetch(`http://${address}/-/ready`)).ok).toBe(true));
    return prometheus;
  }

  async query(expression: string): Promise<Sample[]> {
    const answer = await fetch(`${this.#url}/api/v1/query?${new URLSearchParams({ query: expression })}`);
    const text = await answer.text();
    const { data } = answerSchema.parse(JSON.parse(text), { error: () => `${expression}: ${text}` });
    return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }

  /** By its own clock, in seconds. */
  async now(): Promise<number> {
    const [found] = await this.query('vector(time())');
    return found!.value;
  }

  /** Until it has looked at the job for so long. */
  async looksFor(seconds: number): Promise<void> {
    const until = (await this.now()) + seconds;
    await eventually(async () => expect(await this.now()).toBeGreaterThan(until));
  }

  /** Names of the alerts that fire now, or did at any time since. */
  async fired(since?: number): Promise<string[]> {
    const firing = 'ALERTS{alertstate="firing"}';
    const seconds = since === undefined ? 0 : Math.floor((await this.now()) - since);
    const expression = seconds < 1 ? firing : `count_over_time(${firing}[${seconds}s])`;
    const found = await this.query(`count by (alertname) (${expression})`);
    return found.map(({ labels }) => labels.alertname!.replace('Paddlet', '')).sort();
  }

  /** Until that alert fires. */
  async fires(alert: string): Promise<void> {
    await eventually(async () => expect(await this.fired()).toContain(alert));
  }

  /** Until so many processes answer, each unit has its copies, and no alert fires or is about to. */
  async calm(processes: number): Promise<void> {
    await eventually(async () => {
      expect(await this.query('ALERTS')).toEqual([]);
      expect(await this.query('sum(up)')).toMatchObject([{ value: processes }]);
      expect(await this.query('sum(paddlet_pserver_copies) == sum(paddlet_pserver_units) > 0')).not.toEqual([]);
    });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

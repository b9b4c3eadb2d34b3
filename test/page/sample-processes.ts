/** Processes that work, as the page may be told of them. */
import type { PageProcess } from '../../src/page/page-data.ts';

export function sampleMaster(): PageProcess {
  return {
    ...{ key: 'master', role: 'master', id: '', address: '10.0.0.10:7000', host: 'node-0', pid: 4120 },
    ...{ state: 'working', activity: 'hands out tasks', bytes: 91e6 },
    time: [{ phase: 'idle', percent: 97 }],
    errors: [],
  };
}

export function samplePserver(index: number): PageProcess {
  return {
    ...{ key: `pserver ${index}`, role: 'pserver', id: String(index) },
    ...{ address: `10.0.0.${11 + index}:7101`, host: `node-${1 + index}`, pid: 4200 + index },
    ...{ state: 'working', activity: 'applies pushes', rate: 812 + 7 * index, rateOf: 'pushes', bytes: 412.7e6 },
    time: [
      { phase: 'apply', percent: 46 },
      { phase: 'pull', percent: 31 },
      { phase: 'idle', percent: 20 },
    ],
    errors: [],
  };
}

const IDS = ['1ab3f0', '2c47d9', '3dd810', '4be1a2'];

export function sampleTrainer(index: number): PageProcess {
  const id = IDS[index] ?? (0x500000 + 7919 * index).toString(16);
  return {
    ...{ key: `trainer ${id}`, role: 'trainer', id },
    ...{ address: `10.0.1.${11 + index}:7201`, host: `node-${20 + index}`, pid: 5200 + index },
    ...{ state: 'working', activity: `trains task ${410 + index}`, rate: 12_053 + 111 * index, rateOf: 'records' },
    bytes: 188.3e6,
    time: [
      { phase: 'compute', percent: 61 },
      { phase: 'pull', percent: 22 },
      { phase: 'read', percent: 12 },
    ],
    errors: [],
  };
}

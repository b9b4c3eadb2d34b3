/** A web page of another origin, in a real browser, can neither read nor change anything of the roles. */
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { SUBPROTOCOL } from '../../src/protocol/websocket/version.ts';
import { infoReply, rig } from '../protocol/rig.ts';
import { findBrowser, servePage } from './browser.ts';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, liveProcesses, ROLES, startRun } from './run.ts';

const browser = findBrowser();

/** What a page can try with a role: for each way whether it came through, and what was read. */
const ATTACK = `
  const connect = (url, protocol) => new Promise((resolve) => {
    const socket = new WebSocket(url, protocol);
    socket.onopen = () => resolve('open');
    socket.onerror = () => resolve('refused');
  });
  const read = (url, mode) => fetch(url, { mode }).then(
    async (response) => response.type === 'opaque' ? 'opaque' : response.status + ' ' + (await response.text()),
    () => 'refused',
  );
  const load = (tag, url) => new Promise((resolve) => {
    const element = document.createElement(tag);
    element.onload = () => resolve('loaded');
    element.onerror = () => resolve('refused');
    element.src = url;
    document.body.append(element);
  });
  const frame = async (url) => {
    const element = document.createElement('iframe');
    element.src = url;
    const loaded = new Promise((resolve) => { element.onload = resolve; });
    document.body.append(element);
    await loaded;
    try { return element.contentWindow.document.body.innerText; } catch { return 'refused'; }
  };
  const found = {};
  for (const host of targets.hosts) found[host] = {
    connect: await connect('ws://' + host + '/', targets.protocol),
    read: await read('http://' + host + '/healthz', 'cors'),
    blind: await read('http://' + host + '/healthz', 'no-cors'),
    script: await load('script', 'http://' + host + '/metrics'),
    image: await load('img', 'http://' + host + '/metrics'),
    frame: await frame('http://' + host + '/healthz'),
  };
  return found;
`;
const NOTHING = {
  connect: 'refused',
  read: 'refused',
  blind: 'refused',
  script: 'refused',
  image: 'refused',
  frame: 'refused',
};

describe.skipIf(browser === undefined)(
  `in a browser${browser === undefined ? ' (no chromium on this machine)' : ''}`,
  () => {
    test('a page of another origin neither reads nor writes: not by address, not by a name that it was rebound to', async () => {
      const place = openPlace();
      const { running, store } = await startRun(
        place,
        await plantedJob(place, UNHURRIED_JOB),
        'trainer.dealt:delay=40',
      );
      const roles = (await liveProcesses(place, ROLES)).map(({ address }) => address);
      expect(roles).toHaveLength(ROLES);
      // As after DNS rebinding: the attacker's name leads to this machine.
      const rebound = roles.map((address) => address.replace('127.0.0.1', 'evil.example'));
      const hosts = [...roles, ...rebound];
      const page = await servePage(ATTACK, () => ({ hosts, protocol: SUBPROTOCOL }));
      const found = await page.report(place, browser!, ['--host-resolver-rules=MAP evil.example 127.0.0.1']);
      process.stderr.write(`what the page found: ${JSON.stringify(found, undefined, 1)}\n`);
      expect(found).toEqual(Object.fromEntries(hosts.map((host) => [host, NOTHING])));
      await expectMidRun(store);
      await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
    });

    test('the same page comes through to a server that lets it', async () => {
      const place = openPlace();
      const hosts: string[] = [];
      const page = await servePage(ATTACK, () => ({ hosts, protocol: SUBPROTOCOL }));
      const http = async () => ({ status: 200, contentType: 'text/plain', body: 'ok' });
      const allow = { hosts: [], origins: [page.origin] };
      const { address } = await rig({ handler: () => infoReply, http, allow });
      const open = new WebSocketServer({ port: 0, host: '127.0.0.1' });
      await once(open, 'listening');
      onTestFinished(() => open.close());
      hosts.push(address, `127.0.0.1:${(open.address() as { port: number }).port}`);
      const found = (await page.report(place, browser!)) as Record<string, object>;
      expect(found[hosts[0]!]).toMatchObject({ connect: 'open', read: '200 ok', frame: 'refused' });
      expect(found[hosts[1]!]).toMatchObject({ connect: 'open' });
    });
  },
);

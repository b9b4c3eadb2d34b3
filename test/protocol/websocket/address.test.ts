import { describe, expect, it } from 'vitest';
import { isPaddletError } from '../../../src/base/errors.ts';
import { formatAddress, isLoopback, parseAddress } from '../../../src/protocol/websocket/address.ts';
import * as fc from '../../properties.ts';

const hostAndPort = fc
  .tuple(fc.oneof(fc.stringMatching(/^[a-z0-9.\-[\]%:_]{0,20}$/), fc.ipV4(), fc.ipV6()), fc.nat(70_000))
  .map(([host, port]) => `${host}:${port}`);

describe('addresses', () => {
  it.each([
    ['127.0.0.1:8001', { host: '127.0.0.1', port: 8001 }],
    ['[::1]:8001', { host: '::1', port: 8001 }],
    ['ps-0.cluster.local:65535', { host: 'ps-0.cluster.local', port: 65_535 }],
    ['[2001:db8::1]:1', { host: '2001:db8::1', port: 1 }],
  ])('reads and writes %s', (text, address) => {
    expect(parseAddress(text)).toEqual(address);
    expect(formatAddress(address)).toBe(text);
  });

  it.each([
    ['localhost', 'port is missing'],
    ['localhost:', 'port must be'],
    ['localhost:65536', 'port must be'],
    ['localhost:-1', 'port must be'],
    ['localhost:0', 'port 0'],
    ['::1:8001', 'brackets'],
    ['[::1:8001', 'not an IPv6'],
    ['[1.2.3.4]:8001', 'not an IPv6'],
    [':8001', 'host is missing'],
    ['http://x:8001', 'brackets'],
    ['a b:8001', 'neither'],
    ['x/y:1', 'neither'],
    ['999.1.1.1:1', 'neither'],
    ['[fe80::1%eth0]:1', 'not an IPv6'],
  ])('refuses %s', (text, reason) => {
    expect(() => parseAddress(text)).toThrowError(
      expect.objectContaining({ code: 'Usage', message: expect.stringContaining(reason) }),
    );
  });

  it('takes port 0 for listening', () => {
    expect(parseAddress('0.0.0.0:0', { allowPortZero: true })).toEqual({ host: '0.0.0.0', port: 0 });
  });

  it('knows loopback', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1', 'localhost'].map(isLoopback)).toEqual([true, true, true, true]);
    expect(['10.0.0.1', '0.0.0.0', '127.example.com', '::2'].map(isLoopback)).toEqual([false, false, false, false]);
  });

  it('answers any text with an address or a Usage error', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), hostAndPort), (text) => {
        try {
          const address = formatAddress(parseAddress(text, { allowPortZero: true }));
          expect(URL.canParse(`ws://${address}/`)).toBe(true);
        } catch (error) {
          expect(isPaddletError(error, 'Usage')).toBe(true);
        }
      }),
    );
  });
});

import { describe, expect, it } from '@jest/globals';
import { toAddressKey } from './client.js';

describe('toAddressKey()', () => {
  it('is the same for all addresses of an IPv6 /56', () => {
    const key = toAddressKey('2001:db8::1');
    expect(toAddressKey('2001:db8:0:ff:ffff::2')).toBe(key);
    expect(toAddressKey('2001:db8:0:100::1')).not.toBe(key);
  });

  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['fe80::1%eth0.10', '254.128.0.0.0.0.0'],
    ['192.0.2.1:50123', '192.0.2.1'],
    ['[fe80::1]:50123', '254.128.0.0.0.0.0'],
    ['unknown', 'unknown'],
    ['::1.2.3.4', '::1.2.3.4'],
    ['x'.repeat(100), 'x'.repeat(64)],
    [undefined, ''],
  ])('makes of %s %s', (ip, key) => {
    expect(toAddressKey(ip)).toBe(key);
  });
});

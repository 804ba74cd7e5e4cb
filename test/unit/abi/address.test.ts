/** Internet addresses as RFC 5952 has them; the examples are its own, and inet_ntop's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { endpointText, ipv6Text } from '../../../src/abi/address.js';

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

test('IPv6: the longest run of zeros is ::, the first of two; a single zero stays', () => {
	for (const [hex, text] of [
		['2001 0db8 0000 0000 0000 0000 0000 0001', '2001:db8::1'],
		['2001 0db8 0000 0000 0001 0000 0000 0001', '2001:db8::1:0:0:1'],
		['2001 0000 0000 0001 0000 0000 0000 0001', '2001:0:0:1::1'],
		['2001 0db8 0000 0001 0001 0001 0001 0001', '2001:db8:0:1:1:1:1:1'],
		['2001 0db8 0000 0000 0000 0000 0000 0000', '2001:db8::'],
		['0000 0000 0000 0000 0000 0000 0000 0000', '::'],
		['0000 0000 0000 0000 0000 0000 0000 0001', '::1'],
		['fe80 0000 0000 0000 00a1 0b20 cD30 0004', 'fe80::a1:b20:cd30:4'],
	] as const)
		assert.equal(ipv6Text(bytes(hex)), text);
});

test('an IPv4 address in an IPv6 one has dots', () => {
	assert.equal(ipv6Text(bytes('0000 0000 0000 0000 0000 ffff 0a00 0001')), '::ffff:10.0.0.1');
	assert.equal(ipv6Text(bytes('0001 0000 0000 0000 0000 ffff 0a00 0001')), '1::ffff:a00:1');
});

test('any other address is as URL writes it', () => {
	const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
	fc.assert(
		fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
			fc.pre(groups[5] !== 0xffff || groups.slice(0, 5).some((each) => each !== 0));
			const address = new Uint8Array(groups.flatMap((each) => [each >> 8, each & 0xff]));
			const hex = groups.map((each) => each.toString(16)).join(':');
			assert.equal(`[${ipv6Text(address)}]`, new URL(`http://[${hex}]`).hostname);
		}),
	);
});

test('with a port', () => {
	assert.equal(endpointText(bytes('0a000001'), 443), '10.0.0.1:443');
	assert.equal(endpointText(bytes(`${'00'.repeat(15)}01`), 80), '[::1]:80');
});

/** Internet addresses as text. Source: RFC 5952. */

/** "10.0.0.1:443", "[::1]:80": an address of 4 or 16 bytes, as they are sent, with a port. */
export function endpointText(address: Uint8Array, port: number): string {
	return address.length === 4 ? `${address.join('.')}:${port}` : `[${ipv6Text(address)}]:${port}`;
}

/** The longest run of zeros is "::"; an IPv4 address in it has dots. */
export function ipv6Text(bytes: Uint8Array): string {
	const groups = Array.from({ length: 8 }, (_, i) =>
		(((bytes[2 * i] as number) << 8) | (bytes[2 * i + 1] as number)).toString(16),
	);
	if (groups.slice(0, 5).every((group) => group === '0') && groups[5] === 'ffff')
		return `::ffff:${bytes.subarray(12).join('.')}`;
	const runs = [
		...groups
			.map((group) => (group === '0' ? '0' : '.'))
			.join('')
			.matchAll(/00+/g),
	];
	const longest = runs.sort((a, b) => b[0].length - a[0].length || a.index - b.index)[0];
	if (!longest) return groups.join(':');
	const end = longest.index + longest[0].length;
	return `${groups.slice(0, longest.index).join(':')}::${groups.slice(end).join(':')}`;
}

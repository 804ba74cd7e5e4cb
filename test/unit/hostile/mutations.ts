/** Bytes flipped, cut out, put in, doubled; numbers in them made extreme. */
import fc from 'fast-check';

type Change = (bytes: Buffer) => Buffer;

const EXTREMES = ['00000000', 'ffffffff', 'ffffff7f', '00000080', 'ffffffffffffffff', '0000000001'];

function splice(bytes: Buffer, from: number, to: number, put: Uint8Array): Buffer {
	return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(to)]);
}

/** Places are shares of the length, which changes. */
const place = fc.double({ min: 0, max: 1, noNaN: true });
const within = (share: number, bytes: Buffer): number => Math.floor(share * bytes.length);

const flip = fc.tuple(place, fc.nat(255)).map(([share, byte]): Change => {
	return (bytes) => splice(bytes, within(share, bytes), within(share, bytes) + 1, Buffer.of(byte));
});
const cutOff = place.map(
	(share): Change =>
		(bytes) =>
			bytes.subarray(0, within(share, bytes)),
);
const cutOut = fc.tuple(place, fc.nat(64)).map(([share, length]): Change => {
	return (bytes) => splice(bytes, within(share, bytes), within(share, bytes) + length, Buffer.of());
});
const putIn = fc.tuple(place, fc.uint8Array({ maxLength: 32 })).map(([share, put]): Change => {
	return (bytes) => splice(bytes, within(share, bytes), within(share, bytes), put);
});
const double = fc.tuple(place, fc.nat(256)).map(([share, length]): Change => {
	return (bytes) => {
		const at = within(share, bytes);
		return splice(bytes, at, at, bytes.subarray(at, at + length));
	};
});
const extreme = fc.tuple(place, fc.constantFrom(...EXTREMES)).map(([share, hex]): Change => {
	const put = Buffer.from(hex, 'hex');
	return (bytes) => {
		const at = within(share, bytes) & ~3;
		return splice(bytes, at, at + put.length, put);
	};
});

/** What becomes of these bytes when a few things happen to them. */
export function damaged(bytes: Buffer): fc.Arbitrary<Buffer> {
	const change = fc.oneof(flip, extreme, cutOut, putIn, double, cutOff);
	return fc
		.array(change, { minLength: 1, maxLength: 6 })
		.map((changes) => changes.reduce((all, step) => step(all), bytes));
}

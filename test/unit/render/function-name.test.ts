import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bareName, fittedName } from '../../../src/render/function-name.js';
import { anyText } from '../any-text.js';

const INVOKE =
	'v8::internal::(anonymous namespace)::Invoke(v8::internal::Isolate*, v8::internal::(anonymous namespace)::InvokeParams const&)';

const BARE: ReadonlyArray<readonly [string, string]> = [
	['main', 'main'],
	['do_poll.constprop.0', 'do_poll'],
	['do_epoll_pwait.part.0', 'do_epoll_pwait'],
	['f.isra.0.cold', 'f'],
	['node::encoding(v8::Isolate*, char const*) [clone .part.0]', 'node::encoding'],
	['Parker::park(bool, long)', 'Parker::park'],
	[INVOKE, 'v8::internal::(anonymous namespace)::Invoke'],
	['std::vector<int, std::allocator<int> >::push_back(int&&)', 'std::vector<>::push_back'],
	['shop::Order::total() const', 'shop::Order::total'],
	['shop::Order::operator()(int)', 'shop::Order::operator()'],
	['shop::operator<(shop::Order const&, shop::Order const&)', 'shop::operator<'],
	['shop::Order::operator()', 'shop::Order::operator()'],
	['shop::operator<=>', 'shop::operator<=>'],
	['Order::operator->()', 'Order::operator->'],
	['count<decltype(queue->size())>::add', 'count<>::add'],
	[
		'<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend',
		'<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend',
	],
	['shop::Order::take(int) volatile', 'shop::Order::take'],
	['shop::Order::take(int) &&', 'shop::Order::take'],
	['shop::Order::peek() const &', 'shop::Order::peek'],
	['shop::Order::pay(int) noexcept', 'shop::Order::pay'],
	['f.llvm.4242424242', 'f'],
	['handle (/srv/app/server.js:15)', 'handle (server.js:15)'],
	['(anonymous) (file:///srv/app/server.mjs:15)', '(anonymous) (server.mjs:15)'],
	['emit (node:events)', 'emit (node:events)'],
	['pbkdf2 (node:internal/crypto/pbkdf2)', 'pbkdf2 (node:internal/crypto/pbkdf2)'],
	['burn ([eval]:1)', 'burn ([eval]:1)'],
	['(anonymous namespace)', '(anonymous namespace)'],
	['f(', 'f('],
	[')', ')'],
	['', ''],
];

test('bare names: without arguments and what compilers add', () => {
	for (const [name, bare] of BARE) assert.equal(bareName(name), bare, name);
});

test('what is left out first is what says least', () => {
	assert.equal(fittedName('short', 10), 'short');
	assert.equal(fittedName(INVOKE, 200), INVOKE);
	assert.equal(fittedName(INVOKE, 76), 'v8::internal::(anonymous namespace)::Invoke');
	assert.equal(fittedName(INVOKE, 40), '…::(anonymous namespace)::Invoke');
	assert.equal(fittedName(INVOKE, 12), '…::Invoke');
	const find = 'std::map<std::string, int>::find';
	assert.equal(fittedName(`${find}(std::string const&) const`, find.length), find);
	assert.equal(fittedName(`${find}(std::string const&)`, find.length - 1), 'std::map<>::find');
	const js = 'JS:*placeOrder /srv/shop/orders/place.js:3:15';
	assert.equal(fittedName(js, 30), 'JS:*placeOrder place.js:3:15');
	assert.equal(fittedName('py::slow:/srv/shop/app.py', 20), 'py::slow:app.py');
	assert.equal(fittedName('a_name_without_parts', 10), 'a_name_wi…');
});

test('never wider than there is room, never empty where there is a name', () => {
	const name = fc.oneof(
		anyText({ maxLength: 60 }),
		fc
			.array(fc.constantFrom('a', '::', '<', '>', '(', ')', '/', ' ', ':', '.part.0', 'operator'))
			.map((parts) => parts.join('')),
	);
	fc.assert(
		fc.property(name, fc.integer({ min: 3, max: 40 }), (text, width) => {
			const fitted = fittedName(text, width);
			assert.ok([...fitted].length <= width);
			assert.equal(fitted === '', text === '');
			assert.ok(bareName(text).length <= text.length);
		}),
	);
});

test('a name made to be slow is not', () => {
	for (const part of ['<', '>', '(', ')', '::', 'a::', '.part', '<>', '/a'])
		fittedName(part.repeat(4096), 20);
});

test('a place in a file is no list of arguments: it loses its folders, and then its end', () => {
	const name = 'handle (/srv/app/server.js:15)';
	assert.equal(fittedName(name, name.length), name);
	assert.equal(fittedName(name, name.length - 1), 'handle (server.js:15)');
	assert.equal(fittedName(name, 21), 'handle (server.js:15)');
	assert.equal(fittedName(name, 20), 'handle (server.js:1…');
});

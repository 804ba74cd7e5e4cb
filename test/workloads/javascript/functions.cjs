'use strict';

exports.burnInCommonJs = function burnInCommonJs(ms) {
	const end = performance.now() + ms;
	let text = '';
	while (performance.now() < end) text = concatenated(text);
	return text.length;
};

function concatenated(text) {
	return text.length > 1000 ? '' : `${text}${text.length}`;
}

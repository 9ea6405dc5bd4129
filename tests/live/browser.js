/* SPDX-License-Identifier: MIT */
/* What the pages of tests/live/test_browser.sh share: a frame that files are opened in, as a person would, and a line for
 * each check in #result. */
'use strict';
const files = location.search.slice(1).split(',');
const frame = document.getElementById('frame');
const result = document.getElementById('result');
let svg, page;

function check(name, good, seen) {
	result.textContent += (good ? 'ok   ' : 'FAIL ') + name + (good ? '' : ': saw ' + seen) + '\n';
}
function equal(name, seen, wanted) {
	check(name, seen === wanted, JSON.stringify(seen) + ', not ' + JSON.stringify(wanted));
}
const rest = () => new Promise(done => setTimeout(done, 50));
/* Without a screen no frame is rendered, so the browser tells nobody of a new size: this does. */
async function widen(pixels) {
	frame.style.width = pixels + 'px';
	page.dispatchEvent(new page.Event('resize'));
	await rest();
}
async function open(file, hash) {
	await new Promise(done => {
		frame.onload = done;
		frame.src = 'about:blank';
	});
	await new Promise(done => {
		frame.onload = done;
		frame.src = file + (hash || '');
	});
	page = frame.contentWindow;
	svg = frame.contentDocument.documentElement;
	await rest();
}
async function press(key, more) {
	const target = page.document.activeElement || svg;
	target.dispatchEvent(new page.KeyboardEvent('keydown', { key, bubbles: true, ...more }));
	await rest();
}
async function click(element) {
	element.dispatchEvent(new page.MouseEvent('click', { bubbles: true }));
	await rest();
}
async function run(parts) {
	for (const part of parts) {
		try {
			await part();
		} catch (e) {
			check(part.name + ': ran', false, e + ' ' + e.stack);
		}
	}
	result.textContent += 'end\n';
	document.title = 'done';
}

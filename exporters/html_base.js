// SPDX-License-Identifier: MIT
// What all parts of the page use: the data, what is shown (state, kept in the address), figures,
// colours, and a surface to draw on that scrolls. Embedded by the build, which drops lines that are
// only a comment, and indentation. Must not hold "</script".
'use strict';
var spantrace = (function () {
	var data = JSON.parse(document.getElementById('totals').textContent);
	var defaults = {
		view: 'overview', search: '', sort: 'self', order: 'down', span: '', value: '', zoom: '',
		threads: '', range: '', theme: ''
	};
	var state = Object.assign({}, defaults);
	var listeners = [];
	var colours = new Map();
	var providers = new Set(data.frames.filter(function (name) { return name.includes('::'); })
		.map(function (name) { return name.split('::')[0]; })).size;
	var ranks = new Map(Array.from(new Set(data.frames)).sort().map(function (name, i) { return [name, i]; }));
	var dark = matchMedia('(prefers-color-scheme: dark)');

	// Text is text: nothing of a name is ever read as HTML.
	function make(parent, name, attributes, text) {
		var element = document.createElement(name);

		Object.keys(attributes || {}).forEach(function (key) {
			element.setAttribute(key, attributes[key]);
		});
		if (text !== undefined) {
			element.textContent = text;
		}
		return parent ? parent.appendChild(element) : element;
	}

	function scaled(amount, units) {
		var i = 0, n;

		while (i + 1 < units.length && Math.round(amount / units[i][1]) >= 1000) {
			i++;
		}
		n = amount / units[i][1];
		if (units[i][1] === 1 || n >= 99.95) {
			return count(Math.round(n)) + ' ' + units[i][0];
		}
		return n.toFixed(n >= 9.995 ? 1 : 2) + ' ' + units[i][0];
	}

	function count(n) {
		return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
	}

	function time(ns) {
		return scaled(ns, [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]]);
	}

	// With as many digits as tell two of them apart that are a step from each other.
	function instant(ns, step) {
		var unit = ns >= 1e9 ? ['s', 1e9] : ns >= 1e6 ? ['ms', 1e6] : ns >= 1e3 ? ['µs', 1e3] : ['ns', 1];
		var digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit[1] / Math.max(1, step || 1)) - 1e-9)));

		return (ns / unit[1]).toFixed(digits) + ' ' + unit[0];
	}

	function bytes(n) {
		return scaled(n, [['B', 1], ['KiB', 1024], ['MiB', 1048576], ['GiB', 1073741824], ['TiB', 1099511627776]]);
	}

	function figure(unit, n) {
		return unit === 'ns' ? time(n) : unit === 'bytes' ? bytes(n) : count(n);
	}

	function share(part, whole) {
		var percent = whole ? 100 * part / whole : 0;

		return percent.toFixed(percent >= 9.995 ? 1 : 2) + ' %';
	}

	function plural(n, noun, nouns) {
		return count(n) + ' ' + (n === 1 ? noun : nouns || noun + 's');
	}

	function hash(text) {
		var h = 0x811c9dc5, i;

		for (i = 0; i < text.length; i++) {
			h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
		}
		h ^= h >>> 15;
		h = Math.imul(h, 0x2c1b3c6d);
		return (h ^ h >>> 13) >>> 0;
	}

	function isDark() {
		return state.theme ? state.theme === 'dark' : dark.matches;
	}

	// With several providers a hue for each, and a shade of it for each name; with one the hues of its names
	// are far apart.
	function colour(name) {
		var key = (isDark() ? 'd' : 'l') + name, seen = colours.get(key), at, hue, shade;

		if (seen) {
			return seen;
		}
		at = name.indexOf('::');
		hue = providers > 1 ? hash(at < 0 ? name : name.slice(0, at)) % 18 * 20 + 10 + hash(name) % 25 :
			Math.round((ranks.has(name) ? ranks.get(name) : hash(name)) * 137.5) % 360;
		shade = hash(name + '.') % 4;
		seen = isDark() ? 'hsl(' + hue + ',38%,' + (30 + 3 * shade) + '%)' :
			'hsl(' + hue + ',58%,' + (68 + 4 * shade) + '%)';
		colours.set(key, seen);
		return seen;
	}

	// A name's test, or null where nothing is looked for; ok tells whether the pattern is one.
	function searcher() {
		var pattern;

		if (!state.search) {
			return { test: null, ok: true };
		}
		try {
			pattern = new RegExp(state.search, /[A-Z]/.test(state.search) ? '' : 'i');
		} catch (e) {
			return { test: null, ok: false };
		}
		return { test: function (name) { return pattern.test(name) || pattern.test(plain(name)); }, ok: true };
	}

	// provider::name of flame graphs as provider:name of tables.
	function plain(name) {
		return name.replace('::', ':');
	}

	function toAddress() {
		var parts = [];

		Object.keys(defaults).forEach(function (key) {
			if (String(state[key]) !== String(defaults[key])) {
				parts.push(key + '=' + encodeURIComponent(state[key]));
			}
		});
		return '#' + parts.join('&');
	}

	function fromAddress() {
		var next = Object.assign({}, defaults);

		location.hash.slice(1).split('&').forEach(function (part) {
			var at = part.indexOf('='), key = part.slice(0, at);

			if (!Object.prototype.hasOwnProperty.call(defaults, key)) {
				return;
			}
			try {
				next[key] = decodeURIComponent(part.slice(at + 1));
			} catch (e) {
				next[key] = defaults[key];
			}
		});
		return next;
	}

	function tell(changed) {
		listeners.forEach(function (listener) { listener(changed); });
	}

	// What is shown becomes what CHANGES say. KEEP: the browser's back button undoes it.
	function go(changes, keep) {
		var address;

		Object.assign(state, changes);
		address = toAddress();
		if (address !== location.hash) {
			try {
				history[keep ? 'pushState' : 'replaceState'](null, '', address);
			} catch (e) {
				location.replace(address);
			}
		}
		tell(changes);
	}

	function reload() {
		Object.assign(state, fromAddress());
		tell(state);
	}

	// A part of the page that scrolls over HEIGHT() pixels, of which only those in sight are drawn:
	// DRAW(context, width, height, scroll).
	function surface(parent, label, height, draw) {
		var box = make(parent, 'div', { 'class': 'surface', tabindex: '0', role: 'img', 'aria-label': label });
		var canvas = make(box, 'canvas');
		var spacer = make(box, 'div', { 'class': 'spacer' });
		var context = canvas.getContext('2d');
		var asked = false, self = { box: box, canvas: canvas, width: 0, height: 0, paint: paint, later: later };

		function paint() {
			var ratio = window.devicePixelRatio || 1, width = box.clientWidth, tall = box.clientHeight;

			asked = false;
			if (!width || !tall) {
				return;
			}
			spacer.style.height = Math.max(0, height() - tall) + 'px';
			width = box.clientWidth;
			if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(tall * ratio)) {
				canvas.width = Math.round(width * ratio);
				canvas.height = Math.round(tall * ratio);
				canvas.style.width = width + 'px';
				canvas.style.height = tall + 'px';
			}
			self.width = width;
			self.height = tall;
			context.setTransform(ratio, 0, 0, ratio, 0, 0);
			context.clearRect(0, 0, width, tall);
			context.font = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
			context.textBaseline = 'middle';
			draw(context, width, tall, box.scrollTop);
		}

		function later() {
			if (!asked) {
				asked = true;
				requestAnimationFrame(paint);
			}
		}

		box.addEventListener('scroll', later);
		if (window.ResizeObserver) {
			new ResizeObserver(later).observe(box);
		} else {
			window.addEventListener('resize', later);
		}
		return self;
	}

	// As much of TEXT as fits into so many pixels of the surface's font.
	function fitted(context, text, pixels) {
		var column = fitted.column || (fitted.column = context.measureText('m').width), room, at;

		if (text.length * column <= pixels) {
			return text;
		}
		at = text.indexOf('::');
		if (at >= 0) {
			return fitted(context, text.slice(at + 2), pixels);
		}
		room = Math.floor(pixels / column) - 1;
		if (room < 2) {
			return '';
		}
		// Not in the middle of a pair.
		if (/[\ud800-\udbff]/.test(text[room - 1])) {
			room--;
		}
		return text.slice(0, room) + '…';
	}

	// Shows lines of text beside the pointer, or nothing.
	function tip(box) {
		var element = make(box.parentNode, 'div', { 'class': 'tip', hidden: '' });

		box.addEventListener('mouseleave', function () { element.hidden = true; });
		return function (event, lines) {
			element.hidden = !lines;
			if (!lines) {
				return;
			}
			element.textContent = '';
			lines.forEach(function (line) { make(element, 'div', {}, line.slice(0, 500)); });
			element.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - element.offsetWidth - 8)) + 'px';
			element.style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - element.offsetHeight - 8)) + 'px';
		};
	}

	return {
		data: data, state: state, defaults: defaults, make: make, count: count, time: time, instant: instant,
		bytes: bytes, figure: figure, share: share, plural: plural, colour: colour, isDark: isDark,
		searcher: searcher, plain: plain, go: go, reload: reload, surface: surface, fitted: fitted, dark: dark, tip: tip,
		listen: function (listener) { listeners.push(listener); },
		style: function (name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); },
		views: []
	};
}());

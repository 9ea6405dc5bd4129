// SPDX-License-Identifier: MIT
// What makes flame graphs and flame charts live: search, zoom, details, links into it, the width of the window.
// Embedded by the build, which drops lines that are only a comment. Must not hold "]]" followed by ">".
//
// The picture itself is the data: frames stand depth first, each a <g data-v="weight"> with its text
// in <title> and its depth in the rectangle's y; those of a chart stand anywhere, and say in data-s
// where on the axis they start. Without this script it stays a plain picture.
(function () {
	'use strict';
	var NS = 'http://www.w3.org/2000/svg';
	var XHTML = 'http://www.w3.org/1999/xhtml';
	var script = document.currentScript;
	var svg = (script && script.ownerSVGElement) || document.documentElement;
	var alone = svg === document.documentElement;
	var pad = +svg.getAttribute('data-pad');
	var row = +svg.getAttribute('data-row');
	var top = +svg.getAttribute('data-top');
	var foot = +svg.getAttribute('data-foot');
	var graph = svg.querySelector('.graph');
	var chart = +svg.getAttribute('data-chart') || 0;
	var axis = svg.querySelector('.axis');
	var head = svg.querySelector('.head');
	var note = svg.querySelector('.note');
	var detail = svg.querySelector('.detail');
	var title = head.querySelector('.title');
	var sub = head.querySelector('.sub');
	var titleText = title.textContent;
	var subText = sub.textContent;
	var frames = [];
	var state = { zoom: 0, search: '' };
	var past = [];
	var width = 0;
	var column = 7.2;
	var gap = 0.6;
	var searchWidth = 220;
	var input, result, back, reset;

	function make(parent, name, attributes) {
		var element = document.createElementNS(NS, name);

		Object.keys(attributes).forEach(function (key) {
			element.setAttribute(key, attributes[key]);
		});
		return parent.appendChild(element);
	}

	function readFrame(g, i) {
		var rect = g.querySelector('rect'), info = g.querySelector('title').textContent;

		g.frame = i;
		return {
			g: g,
			rect: rect,
			text: g.querySelector('text'),
			info: info,
			name: info.split('\n')[0],
			weight: +g.getAttribute('data-v'),
			count: +g.getAttribute('data-n') || 1,
			start: +g.getAttribute('data-s'),
			y: +rect.getAttribute('y'),
			merged: rect.getAttribute('class') === 'o',
			end: 0,
			hidden: false
		};
	}

	// Depth first, so a frame's parent is the last one before it that is less deep, and it starts
	// where its elder sibling ended.
	function read() {
		var open = [], groups = graph.children, i, depth, frame, parent;

		for (i = 0; i < groups.length; i++) {
			if (groups[i].localName !== 'g') {
				continue;
			}
			frame = readFrame(groups[i], frames.length);
			frames.push(frame);
			if (chart) {
				continue;
			}
			depth = Math.round((frame.y - top) / row);
			while (open.length > depth) {
				open.pop().end = frames.length - 1;
			}
			parent = open[depth - 1] || null;
			frame.parent = parent;
			frame.depth = depth;
			frame.start = frame.filled = parent ? parent.filled : 0;
			if (parent) {
				parent.filled += frame.weight;
			}
			open.push(frame);
		}
		while (open.length) {
			open.pop().end = frames.length;
		}
	}

	function columnsOf(code) {
		return code >= 0x1100 && (code <= 0x115f || (code >= 0x2e80 && code <= 0xa4cf) ||
			(code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
			(code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
			code >= 0x1f300) ? 2 : 1;
	}

	// As much of the text as fits, with an ellipsis for the rest.
	function cut(text, pixels) {
		var room = Math.floor(pixels / column), used = 0, keep = 0, i, code;

		for (i = 0; i < text.length; i += code > 0xffff ? 2 : 1) {
			code = text.codePointAt(i);
			used += columnsOf(code);
			if (used > room) {
				return room < 3 ? '' : text.slice(0, keep) + '…';
			}
			if (used < room) {
				keep = i + (code > 0xffff ? 2 : 1);
			}
		}
		return text;
	}

	// A name without its provider, where the whole does not fit.
	function fitted(name, pixels) {
		var text = cut(name, pixels), colons = name.indexOf('::');

		return text === name || colons < 0 ? text : cut(name.slice(colons + 2), pixels);
	}

	function place(frame, x, w) {
		var text = fitted(frame.name, w - 6);

		if (frame.hidden) {
			frame.g.style.display = '';
			frame.hidden = false;
		}
		frame.rect.setAttribute('x', x.toFixed(2));
		frame.rect.setAttribute('width', (w > 4 * gap ? w - gap : w).toFixed(2));
		if (!frame.text && text) {
			frame.text = make(frame.g, 'text', { y: frame.y + 13 });
		}
		if (frame.text) {
			frame.text.setAttribute('x', (x + 3).toFixed(2));
			frame.text.textContent = text;
		}
	}

	function layoutHead() {
		var right = width - pad, free;

		input.parentNode.setAttribute('x', right - searchWidth);
		free = right - searchWidth - 12;
		reset.setAttribute('x', free);
		back.setAttribute('x', free - 12 * column);
		if (state.zoom) {
			free -= 18 * column;
		}
		title.textContent = cut(titleText, (free - pad) * 12 / 17);
		result.setAttribute('x', right);
		sub.textContent = cut(subText, right - searchWidth - 12 - pad);
		back.style.display = past.length ? '' : 'none';
		reset.style.display = state.zoom ? '' : 'none';
	}

	// The part of a chart's axis that is shown.
	function range() {
		var ends = state.zoom ? state.zoom.split('-') : [0, chart];

		return { from: +ends[0], to: Math.max(+ends[1], +ends[0] + 1) };
	}

	function time(ns) {
		var units = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];
		var unit = units.find(function (u) { return ns >= u[1]; }) || units[3];

		return +(ns / unit[1]).toPrecision(9) + ' ' + unit[0];
	}

	function layoutAxis(shown, scale, height) {
		var step = Math.pow(10, Math.floor(Math.log10((shown.to - shown.from) / 8)));
		var at, x, text;

		step *= [1, 2, 5, 10].find(function (f) { return (shown.to - shown.from) / (step * f) <= 8; });
		step = Math.max(1, step);
		axis.textContent = '';
		for (at = Math.ceil(shown.from / step) * step; at <= shown.to; at += step) {
			x = (pad + (at - shown.from) * scale).toFixed(2);
			make(axis, 'line', { x1: x, x2: x, y1: 74, y2: height - foot });
			if (+x + 80 < width) {
				text = make(axis, 'text', { x: +x + 3, y: 86 });
				text.textContent = time(at);
			}
		}
	}

	// A frame that reaches beyond the range is cut at its ends.
	function layoutChart() {
		var shown = range(), scale = (width - 2 * pad) / (shown.to - shown.from);
		var height = +svg.getAttribute('viewBox').split(' ')[3], i, frame, from, to;

		for (i = 0; i < frames.length; i++) {
			frame = frames[i];
			from = Math.max(frame.start, shown.from);
			to = Math.min(frame.start + frame.weight, shown.to);
			if (to < from || (state.zoom && to === from && frame.weight)) {
				if (!frame.hidden) {
					frame.g.style.display = 'none';
					frame.hidden = true;
				}
				continue;
			}
			place(frame, pad + (from - shown.from) * scale, Math.max(0.5, (to - from) * scale));
		}
		svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
		layoutAxis(shown, scale, height);
		layoutHead();
	}

	function layout() {
		if (chart) {
			layoutChart();
		} else {
			layoutGraph();
		}
	}

	function layoutGraph() {
		var zoomed = frames[state.zoom], scale, deepest = 0, i, frame, height, inner;

		inner = width - 2 * pad;
		scale = zoomed ? inner / zoomed.weight : 0;
		for (i = 0; i < frames.length; i++) {
			frame = frames[i];
			if (i >= state.zoom && i < zoomed.end && frame.weight * scale >= 0.1) {
				frame.g.classList.remove('above');
				place(frame, pad + (frame.start - zoomed.start) * scale, frame.weight * scale);
			} else if (i < state.zoom && frame.end > state.zoom) {
				frame.g.classList.add('above');
				place(frame, pad, inner);
			} else {
				if (!frame.hidden) {
					frame.g.style.display = 'none';
					frame.hidden = true;
				}
				continue;
			}
			deepest = Math.max(deepest, frame.depth);
		}
		height = top + (deepest + 1) * row + foot;
		note.setAttribute('y', height - 10);
		svg.setAttribute('height', height);
		svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
		layoutHead();
	}

	function resize() {
		var now = Math.max(320, Math.round(svg.getBoundingClientRect().width));

		if (now !== width) {
			width = now;
			layout();
		}
	}

	// Frames that match; of those below another that matches only the upper one counts for the share.
	function mark() {
		var pattern = null, bad = false, matched = 0, count = 0, counted = 0, i, frame, hit, noun;

		try {
			if (state.search) {
				pattern = new RegExp(state.search, /[A-Z]/.test(state.search) ? '' : 'i');
			}
		} catch (e) {
			bad = true;
		}
		for (i = 0; i < frames.length; i++) {
			frame = frames[i];
			hit = pattern !== null && !frame.merged && pattern.test(frame.name);
			frame.g.classList.toggle('m', hit);
			if (!hit) {
				continue;
			}
			count += frame.count;
			if (i >= counted) {
				matched += frame.weight;
				counted = chart ? 0 : frame.end;
			}
		}
		result.classList.toggle('bad', bad);
		if (bad) {
			result.textContent = 'not a regular expression';
		} else if (pattern && frames.length) {
			noun = (chart ? ' span' : ' frame') + (count === 1 ? '' : 's');
			result.textContent = chart ? 'matched ' + count + noun + ', ' + time(matched) :
				'matched ' + (100 * matched / frames[0].weight).toFixed(1) + ' % in ' + count + noun;
		} else {
			result.textContent = '';
		}
	}

	function show(next) {
		var searched = next.search !== state.search;

		state = next;
		if (input.value !== state.search) {
			input.value = state.search;
		}
		if (searched) {
			mark();
		}
		layout();
	}

	// The address follows what is shown, so that it can be sent to someone, and the browser's own
	// back button undoes a zoom.
	function go(next, keep) {
		var parts = [], hash;

		if (next.search) {
			parts.push('search=' + encodeURIComponent(next.search));
		}
		if (next.zoom) {
			parts.push('zoom=' + next.zoom);
		}
		hash = '#' + parts.join('&');
		show(next);
		try {
			if (keep) {
				location.hash = hash;
			} else {
				location.replace(hash);
			}
		} catch (e) {
			detail.textContent = '';
		}
	}

	function zoomTo(index) {
		if (index !== state.zoom) {
			past.push(state.zoom);
			go({ zoom: index, search: state.search }, true);
		}
	}

	// What a click on the frame zooms to: in a chart the time that it takes.
	function target(index) {
		var frame = frames[index];

		if (!chart) {
			return index;
		}
		return frame && frame.weight && frame.weight < chart ?
			frame.start + '-' + (frame.start + frame.weight) : 0;
	}

	// zoom=17 is a frame's place in the file, zoom=app::outer the widest frame of that name; in a
	// chart zoom=1000-2000 is a range in ns.
	function find(name) {
		var best = 0, weight = -1, i;

		if (chart && /^[0-9]{1,15}-[0-9]{1,15}$/.test(name)) {
			return name;
		}
		if (/^[0-9]+$/.test(name)) {
			return +name < frames.length ? target(+name) : 0;
		}
		for (i = 0; i < frames.length; i++) {
			if (frames[i].name === name && frames[i].weight > weight) {
				best = i;
				weight = frames[i].weight;
			}
		}
		return weight < 0 ? 0 : target(best);
	}

	function fromAddress() {
		var next = { zoom: 0, search: '' };

		location.hash.slice(1).split('&').forEach(function (part) {
			var at = part.indexOf('='), key = part.slice(0, at), value;

			try {
				value = decodeURIComponent(part.slice(at + 1));
			} catch (e) {
				return;
			}
			if (key === 'search') {
				next.search = value;
			} else if (key === 'zoom') {
				next.zoom = find(value);
			}
		});
		return next;
	}

	function frameAt(element) {
		var g = element.closest ? element.closest('.graph > g') : null;

		return g && graph.contains(g) ? frames[g.frame] : null;
	}

	function button(label, action) {
		var text = make(head, 'text', { 'class': 'button', y: 27, 'text-anchor': 'end' });

		text.textContent = label;
		text.addEventListener('click', action);
		return text;
	}

	function build() {
		var box = make(head, 'foreignObject', { y: 10, width: searchWidth, height: 26 });
		var probe = make(head, 'text', { visibility: 'hidden' });

		probe.textContent = 'mmmmmmmmmm';
		column = probe.getComputedTextLength() / 10 || column;
		probe.remove();
		input = document.createElementNS(XHTML, 'input');
		input.setAttribute('type', 'search');
		input.setAttribute('placeholder', 'search (regex), or press /');
		input.setAttribute('aria-label', 'search frames by a regular expression');
		box.appendChild(input);
		input.addEventListener('input', function () {
			go({ zoom: state.zoom, search: input.value }, false);
		});
		result = make(head, 'text', { 'class': 'result', y: 52, 'text-anchor': 'end' });
		back = button('back', function () {
			if (past.length) {
				go({ zoom: past.pop(), search: state.search }, false);
			}
		});
		reset = button('reset zoom', function () {
			zoomTo(0);
		});
	}

	// In a chart: the arrows move by a quarter of what is shown, + and - zoom by two.
	function steer(key) {
		var shown = range(), size = shown.to - shown.from, middle = (shown.from + shown.to) / 2;

		if (key === 'ArrowLeft' || key === 'ArrowRight') {
			middle += (key === 'ArrowLeft' ? -1 : 1) * size / 4;
		} else if (key === '+' || key === '=') {
			size /= 2;
		} else if (key === '-') {
			size *= 2;
		} else {
			return false;
		}
		size = Math.max(10, Math.min(size, chart));
		middle = Math.min(Math.max(middle, size / 2), chart - size / 2);
		go({
			zoom: size >= chart ? 0 : Math.round(middle - size / 2) + '-' + Math.round(middle + size / 2),
			search: state.search
		}, false);
		return true;
	}

	function listen() {
		graph.addEventListener('click', function (e) {
			var frame = frameAt(e.target);

			if (frame && frame.merged) {
				frame = frame.parent;
			}
			if (frame) {
				zoomTo(target(frame.g.frame));
			}
		});
		graph.addEventListener('mouseover', function (e) {
			var frame = frameAt(e.target);

			detail.textContent = frame ? cut(frame.info.replace('\n', '  '), width - 2 * pad) : '';
		});
		graph.addEventListener('mouseleave', function () {
			detail.textContent = '';
		});
		window.addEventListener('hashchange', function () {
			var next = fromAddress();

			if (next.zoom !== state.zoom) {
				if (past[past.length - 1] === next.zoom) {
					past.pop();
				} else {
					past.push(state.zoom);
				}
			}
			if (next.zoom !== state.zoom || next.search !== state.search) {
				show(next);
			}
		});
		window.addEventListener('keydown', function (e) {
			var typing = document.activeElement === input;

			if (!alone && !typing) {
				return;
			}
			if (e.key === 'Escape') {
				input.blur();
				past = [];
				go({ zoom: 0, search: '' }, true);
			} else if (!typing && (e.key === '/' || (e.key === 'f' && (e.ctrlKey || e.metaKey)))) {
				e.preventDefault();
				input.focus();
				input.select();
			} else if (!typing && chart && !e.ctrlKey && !e.metaKey && !e.altKey && steer(e.key)) {
				e.preventDefault();
			}
		});
		if (alone) {
			window.addEventListener('scroll', function () {
				head.setAttribute('transform', 'translate(0,' + window.pageYOffset + ')');
			});
		}
		window.addEventListener('resize', resize);
		if (window.ResizeObserver) {
			new ResizeObserver(resize).observe(svg);
		}
	}

	read();
	build();
	listen();
	svg.classList.add('live');
	svg.style.width = '100%';
	width = Math.max(320, Math.round(svg.getBoundingClientRect().width));
	if (frames.length) {
		show(fromAddress());
	} else {
		layoutHead();
	}
}());

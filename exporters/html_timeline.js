// SPDX-License-Identifier: MIT
// The flame chart of the page: threads and async lanes over time. A lane's spans stand in the order of
// their starts, so what is in sight is found by halving; where several fall into a pixel, the sums that
// are made once say how much of it they fill. So a million spans draw as fast as a thousand.
'use strict';
(function (st) {
	var ROW = 18, HEAD = 22, AXIS = 24;
	var chart = st.data.timeline, items = null, lanes = [], heads = [], total = 0, folded = {};
	var surface, boxes = [], info, result, tip, drag = null, chosen = -1;

	// The form stands in exporters/html_data.h.
	function decode() {
		var text = atob(document.getElementById('items').textContent), n = chart.items, at = 0, i, l, t, value;
		var flags, lane, track, end, before, busy, event, cpu = st.data.cpu;

		function number() {
			var sum = 0, factor = 1, byte;

			do {
				byte = text.charCodeAt(at++);
				sum += (byte & 127) * factor;
				factor *= 128;
			} while (byte >= 128);
			return sum;
		}

		items = {
			start: new Float64Array(n), end: new Float64Array(n), label: new Uint32Array(n), cpu: new Uint8Array(n),
			count: new Uint32Array(n).fill(1), filled: new Float64Array(n + 1), longest: new Map(),
			event: new Uint8Array(n), value: new Map()
		};
		i = 0;
		for (t = 0; t < chart.tracks.length; t++) {
			track = chart.tracks[t];
			for (l = 0; l < track.lanes.length; l++) {
				lane = { track: t, first: i, end: i + track.lanes[l] };
				event = l === 0 && track.events > 0;
				lanes.push(lane);
				before = 0;
				for (end = lane.end; i < end; i++) {
					before += number();
					value = number();
					flags = value % 2;
					value = (value - flags) / 2;
					items.start[i] = before;
					items.end[i] = before + value;
					items.label[i] = number();
					busy = value;
					if (flags) {
						items.count[i] = number();
						busy = Math.min(number(), value);
						items.longest.set(i, number());
					} else if (event) {
						value = number() - 1;
						if (value >= 0) {
							items.value.set(i, value % 2 ? -(value + 1) / 2 : value / 2);
						}
					}
					items.event[i] = event ? 1 : 0;
					items.cpu[i] = cpu && !event ? text.charCodeAt(at++) : 0;
					items.filled[i + 1] = items.filled[i] + busy;
				}
			}
		}
	}

	function arrange() {
		var y = AXIS, last = -1;

		heads = [];
		lanes.forEach(function (lane) {
			if (lane.track !== last) {
				last = lane.track;
				heads.push({ track: last, y: y });
				y += HEAD;
			}
			lane.y = folded[lane.track] ? -1 : y;
			if (!folded[lane.track]) {
				y += ROW;
			}
		});
		total = y + 8;
	}

	function range() {
		var ends = /^(\d{1,15})-(\d{1,15})$/.exec(st.state.range), from = 0, to = Math.max(1, chart.length);

		if (ends && +ends[2] > +ends[1] && +ends[1] < to) {
			from = +ends[1];
			to = Math.min(+ends[2], to);
		}
		return { from: from, to: to };
	}

	function show(from, to, keep) {
		var size = Math.min(Math.max(to - from, 20), chart.length);

		from = Math.round(Math.min(Math.max(0, from), chart.length - size));
		to = Math.round(from + size);
		st.go({ range: from <= 0 && to >= chart.length ? '' : from + '-' + to }, keep);
	}

	// The first item of the lane from LOW on that starts at NS or later.
	function firstFrom(ns, low, high) {
		var middle;

		while (low < high) {
			middle = (low + high) >>> 1;
			if (items.start[middle] < ns) {
				low = middle + 1;
			} else {
				high = middle;
			}
		}
		return low;
	}

	function matches(search) {
		return search.test ? chart.labels.map(function (label) { return search.test(label); }) : null;
	}

	function trackName(track) {
		return track.async ? 'async spans of process ' + track.pid : (track.comm || '?') + '-' + track.tid;
	}

	// One item that is wide enough, or the N that fall into one pixel.
	function bar(context, look, i, n, x, y, w, alpha, hits) {
		var hit = hits && hits[items.label[i]], j, name = chart.labels[items.label[i]], text;

		for (j = i + 1; hits && !hit && j < i + n; j++) {
			hit = hits[items.label[j]];
		}
		context.globalAlpha = hits && !hit ? 0.25 * alpha : alpha;
		context.fillStyle = hit ? look.match : st.colour(name);
		context.fillRect(x, y, w > 2.4 ? w - 0.6 : w, ROW - 1);
		context.globalAlpha = 1;
		if (i === chosen && n === 1) {
			context.strokeStyle = look.text;
			context.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - 1.6), ROW - 2);
		}
		if (w > 24) {
			text = st.fitted(context, items.count[i] > 1 ? name + ' ×' + st.count(items.count[i]) : name, w - 8);
			context.fillStyle = look.text;
			context.fillText(text, x + 4, y + ROW / 2);
		}
		boxes.push(x, y, w, i, n);
	}

	function drawLane(context, look, lane, y, width, shown, hits) {
		var scale = width / (shown.to - shown.from), pixel = 1 / scale, i, next, x, end, filled;

		i = firstFrom(shown.from, lane.first, lane.end);
		if (i > lane.first && items.end[i - 1] > shown.from) {
			i--;
		}
		while (i < lane.end && items.start[i] <= shown.to) {
			x = Math.max(0, (items.start[i] - shown.from) * scale);
			end = Math.min(width, (items.end[i] - shown.from) * scale);
			if (end - x >= 1) {
				filled = (items.filled[i + 1] - items.filled[i]) / (items.end[i] - items.start[i] || 1);
				bar(context, look, i, 1, x, y, end - x, items.count[i] > 1 ? 0.35 + 0.55 * filled : 1, hits);
				i++;
				continue;
			}
			// Of those that start in this pixel only the last can reach beyond it.
			next = Math.max(i + 1, firstFrom(shown.from + (Math.floor(x) + 1) * pixel, i, lane.end));
			if (next - 1 > i && items.end[next - 1] - items.start[next - 1] >= pixel) {
				next--;
			}
			filled = (items.filled[next] - items.filled[i]) * scale;
			bar(context, look, i, next - i, Math.floor(x), y, 1, Math.min(1, 0.6 + 0.4 * filled), hits);
			i = next;
		}
	}

	function drawAxis(context, look, width, height, shown) {
		var size = shown.to - shown.from, step = Math.pow(10, Math.floor(Math.log10(size / 8))), at, x;

		step *= [1, 2, 5, 10].find(function (f) { return size / (step * f) <= 8; });
		step = Math.max(1, step);
		context.fillStyle = look.page;
		context.fillRect(0, 0, width, AXIS);
		for (at = Math.ceil(shown.from / step) * step; at <= shown.to; at += step) {
			x = (at - shown.from) * width / size;
			context.fillStyle = look.line;
			context.fillRect(Math.round(x), 0, 1, height);
			context.fillStyle = look.muted;
			if (x + 90 < width) {
				context.fillText(st.instant(at, step), x + 4, AXIS / 2);
			}
		}
	}

	function draw(context, width, height, scroll) {
		var shown = range(), hits = matches(st.searcher());
		var look = {
			text: st.style('--text'), muted: st.style('--muted'), line: st.style('--grid'), match: st.style('--match'),
			page: st.style('--page')
		};

		boxes = [];
		lanes.forEach(function (lane) {
			var y = lane.y - scroll;

			if (lane.y >= 0 && y > -ROW && y < height) {
				drawLane(context, look, lane, y, width, shown, hits);
			}
		});
		heads.forEach(function (head) {
			var y = head.y - scroll, track = chart.tracks[head.track], text;

			if (y < -HEAD || y > height) {
				return;
			}
			text = trackName(track);
			context.fillStyle = look.text;
			context.font = 'bold ' + context.font;
			context.fillText((folded[head.track] ? '▸ ' : '▾ ') + text, 4, y + HEAD / 2 + 1);
			text = context.measureText(text).width + 30;
			context.font = context.font.replace('bold ', '');
			context.fillStyle = look.muted;
			context.fillText(st.plural(track.spans, 'span') + (track.events ? ', ' + st.plural(track.events, 'event') : '') +
				(track.segments ? ', ' +
				st.plural(track.segments, 'stretch of an async span', 'stretches of async spans') : ''),
				text, y + HEAD / 2 + 1);
		});
		drawAxis(context, look, width, height, shown);
		if (!lanes.length) {
			context.fillStyle = look.muted;
			context.fillText('Nothing to show: the trace holds no single spans.', 8, 50);
		}
		if (drag && drag.select) {
			context.globalAlpha = 0.2;
			context.fillStyle = look.match;
			context.fillRect(Math.min(drag.x, drag.now), 0, Math.abs(drag.now - drag.x), height);
			context.globalAlpha = 1;
		}
	}

	function place(event) {
		var box = surface.canvas.getBoundingClientRect();

		return { x: event.clientX - box.left, y: event.clientY - box.top };
	}

	function at(event) {
		var p = place(event), i;

		for (i = 0; i < boxes.length; i += 5) {
			if (p.y >= boxes[i + 1] && p.y < boxes[i + 1] + ROW && p.x >= boxes[i] - 1 && p.x < boxes[i] + boxes[i + 2] + 1) {
				return { item: boxes[i + 3], n: boxes[i + 4] };
			}
		}
		return null;
	}

	function told(found) {
		var i = found.item, count = 0, j, lines;

		for (j = i; j < i + found.n; j++) {
			count += items.count[j];
		}
		lines = [chart.labels[items.label[i]]];
		if (items.event[i]) {
			lines.push(count > 1 ? st.plural(count, 'event') + ' here, from ' + st.instant(items.start[i]) :
				'event at ' + st.instant(items.start[i]));
			if (items.value.has(i)) {
				lines.push('value ' + (items.value.get(i) < 0 ? '−' : '') + st.count(Math.abs(items.value.get(i))));
			}
			return lines;
		}
		if (count > 1) {
			lines.push(st.plural(count, 'span') + ' here, busy ' + st.time(items.filled[i + found.n] - items.filled[i]) +
				' together; this is ' + (items.longest.has(i) ? 'the longest, ' + st.time(items.longest.get(i)) : 'the first'));
		} else {
			lines.push(st.time(items.end[i] - items.start[i]) + ', from ' + st.instant(items.start[i]));
		}
		if (st.data.cpu) {
			lines.push(st.share(items.cpu[i], 255) + ' of its busy time on the CPU');
		}
		return lines;
	}

	function zoomAt(x, factor) {
		var shown = range(), size = shown.to - shown.from, point = shown.from + size * x / surface.width;

		show(point - (point - shown.from) * factor, point + (shown.to - point) * factor, false);
	}

	function zoomToItem(i, keep) {
		var size = items.end[i] - items.start[i] || (range().to - range().from) / 10; // an event

		show(items.start[i] - size * 0.05, items.end[i] + size * 0.05, keep);
	}

	// The longest span of that name.
	function zoomToName(name) {
		var best = -1, i;

		prepare();
		for (i = 0; i < chart.items; i++) {
			if (st.plain(chart.labels[items.label[i]]) === name &&
				(best < 0 || items.end[i] - items.start[i] > items.end[best] - items.start[best])) {
				best = i;
			}
		}
		if (best >= 0) {
			chosen = best;
			zoomToItem(best, true);
		}
	}

	function say() {
		var shown = range(), search = st.searcher(), hits = matches(search), n = [0, 0], i;
		var step = (shown.to - shown.from) / 1000;

		info.textContent = st.instant(shown.from, step) + ' to ' + st.instant(shown.to, step) + ' of ' +
			st.time(chart.length) + ' · ' + st.plural(chart.spans, 'span') +
			(chart.events ? ', ' + st.plural(chart.events, 'event') : '') +
			(chart.grain ? ', those below ' + st.time(chart.grain) + ' together where they are close' : '') +
			(chart.omitted ? ' · ' + st.plural(chart.omitted, 'async span') + ' left out: more than 256 at a time' : '');
		result.textContent = search.ok ? '' : 'not a regular expression';
		for (i = 0; hits && i < chart.items; i++) {
			n[items.event[i]] += hits[items.label[i]] ? items.count[i] : 0;
		}
		if (hits) {
			result.textContent = 'matched ' + st.plural(n[0], 'span') + (n[1] ? ', ' + st.plural(n[1], 'event') : '');
		}
	}

	function prepare() {
		if (!items) {
			decode();
			arrange();
		}
	}

	function key(event) {
		var shown = range(), size = shown.to - shown.from, name = event.key;

		if (name === 'ArrowLeft' || name === 'a') {
			show(shown.from - size / 4, shown.to - size / 4, false);
		} else if (name === 'ArrowRight' || name === 'd') {
			show(shown.from + size / 4, shown.to + size / 4, false);
		} else if (name === '+' || name === '=' || name === 'w') {
			zoomAt(surface.width / 2, 0.5);
		} else if (name === '-' || name === 's') {
			zoomAt(surface.width / 2, 2);
		} else if (name === 'f' && chosen >= 0) {
			zoomToItem(chosen, true);
		} else {
			return false;
		}
		return true;
	}

	function listen() {
		surface.box.addEventListener('wheel', function (event) {
			if (event.ctrlKey || event.altKey) {
				event.preventDefault();
				zoomAt(place(event).x, event.deltaY > 0 ? 1.25 : 0.8);
			} else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
				var shown = range(), ns = (event.deltaX || event.deltaY) * (shown.to - shown.from) / surface.width;

				event.preventDefault();
				show(shown.from + ns, shown.to + ns, false);
			}
		}, { passive: false });
		surface.canvas.addEventListener('mousedown', function (event) {
			var p = place(event);

			drag = { x: p.x, now: p.x, select: event.shiftKey || p.y < AXIS, range: range(), moved: false };
		});
		window.addEventListener('mousemove', function (event) {
			var p, ns;

			if (!drag) {
				return;
			}
			p = place(event);
			drag.now = p.x;
			drag.moved = drag.moved || Math.abs(p.x - drag.x) > 3;
			if (!drag.select && drag.moved) {
				ns = (drag.x - p.x) * (drag.range.to - drag.range.from) / surface.width;
				show(drag.range.from + ns, drag.range.to + ns, false);
			}
			surface.later();
		});
		window.addEventListener('mouseup', function () {
			var d = drag, ns;

			drag = null;
			if (d && d.select && d.moved) {
				ns = (d.range.to - d.range.from) / surface.width;
				show(d.range.from + Math.min(d.x, d.now) * ns, d.range.from + Math.max(d.x, d.now) * ns, true);
			}
			surface.later();
			if (d && d.moved) {
				drag = { over: true };
				setTimeout(function () { drag = null; }, 0);
			}
		});
		surface.canvas.addEventListener('click', function (event) {
			var found = at(event), y = place(event).y + surface.box.scrollTop, head;

			if (drag && drag.over) {
				return;
			}
			head = heads.find(function (h) { return y >= h.y && y < h.y + HEAD; });
			if (head) {
				folded[head.track] = !folded[head.track];
				arrange();
			} else {
				chosen = found ? found.item : -1;
			}
			surface.later();
		});
		surface.canvas.addEventListener('dblclick', function (event) {
			var found = at(event);

			if (found) {
				zoomToItem(found.item, true);
			}
		});
		surface.box.addEventListener('mousemove', function (event) {
			var found = drag ? null : at(event);

			tip(event, found ? told(found) : null);
		});
	}

	function make(root) {
		var bar = st.make(root, 'div', { 'class': 'bar' });

		[['−', 2, 'zoom out'], ['+', 0.5, 'zoom in']].forEach(function (b) {
			st.make(bar, 'button', { type: 'button', 'aria-label': b[2] }, b[0]).addEventListener('click', function () {
				zoomAt(surface.width / 2, b[1]);
			});
		});
		st.make(bar, 'button', { type: 'button', 'data-act': 'reset' }, 'Show all').addEventListener('click',
			function () { st.go({ range: '' }, true); });
		info = st.make(bar, 'span', { 'class': 'info' });
		result = st.make(bar, 'span', { 'class': 'result' });
		surface = st.surface(root, 'spans over time', function () { return total; }, function (c, w, h, s) {
			if (items) {
				draw(c, w, h, s);
			}
		});
		tip = st.tip(surface.box);
		listen();
		st.make(root, 'p', { 'class': 'hint' }, 'Drag to move, Shift-drag or drag along the times to select, double-click ' +
			'a span to zoom to it, Ctrl-wheel or + and − to zoom, arrows to move, f for the chosen span.');
	}

	st.views.push({
		id: 'timeline',
		label: 'Timeline',
		make: make,
		show: function () {
			prepare();
			say();
			surface.paint();
		},
		key: key,
		zoomToName: zoomToName,
		boxes: function () { return boxes; },
		items: function () { return items; }
	});
}(spantrace));

// SPDX-License-Identifier: MIT
// The parts of the page that are tables and figures: the overview, the spans with their percentiles,
// events, losses and what tracing cost.
'use strict';
(function (st) {
	var spans = st.data.spans, unit = { alloc: 'bytes', inuse: 'bytes' }, PAGE = 400, shown = PAGE;
	var body, headers = {}, more, detail, result, empty;
	var numbers = { count: 1, abandoned: 1, open: 1, switches: 1, preempted: 1 };
	var titles = {
		count: 'finished', abandoned: 'finished without an exit of their own', open: 'still open at the end',
		wall: 'time that they existed', busy: 'time entered', self: 'busy without what was entered on top',
		cpu: 'on the CPU while entered', user: 'of cpu, in the program', system: 'of cpu, in the kernel', run_delay: 'runnable, waiting for a CPU', mean: 'wall time, on average',
		p50: 'half of them took no longer', p99: '99 of 100 took no longer', max: 'the longest',
		alloc: 'bytes allocated', inuse: 'bytes not yet freed'
	};

	if (spans.system) {
		spans.user = spans.cpu.map(function (cpu, i) { return cpu - spans.system[i]; });
	}

	function has(i) {
		return spans.kind[i] >= 2;
	}

	function processes() {
		return spans.kind.filter(function (kind) { return kind === 0; }).length;
	}

	function above(i) {
		var path = [];

		for (i = spans.parent[i]; i >= 0 && spans.kind[i] !== 0; i = spans.parent[i]) {
			path.unshift(spans.name[i]);
		}
		if (i >= 0 && processes() > 1) {
			path.unshift(spans.name[i]);
		}
		return path;
	}

	// q from 0 to 1; undefined where it is not known.
	function quantile(i, q) {
		var list = spans.quantiles ? spans.quantiles[i] : [];

		if (list.length === 4) {
			return { 0.5: list[0], 0.9: list[1], 0.99: list[2], 0.999: list[3] }[q];
		}
		return q === 0.999 ? list[101] : q === 0.9999 ? list[102] : list[Math.round(q * 100)];
	}

	// A column there is, and that says something.
	function columns() {
		return ['count', 'abandoned', 'open', 'wall', 'busy', 'self', 'cpu', 'user', 'system', 'run_delay', 'alloc',
			'inuse', 'mean', 'p50', 'p99', 'max'].filter(function (key) {
			if (key === 'wall' && spans.wall) {
				return spans.wall.some(function (wall, i) { return has(i) && wall !== spans.busy[i]; });
			}
			if (key === 'p50' || key === 'p99') {
				return spans.quantiles;
			}
			return spans[key] && (numbers[key] !== 1 || key === 'count' || spans[key].some(Boolean));
		});
	}

	function value(i, key) {
		return key === 'p50' ? quantile(i, 0.5) : key === 'p99' ? quantile(i, 0.99) : spans[key][i];
	}

	function text(i, key) {
		var n = value(i, key);

		if (n === undefined || (/^(min|mean|p50|p99|max)$/.test(key) && !spans.count[i])) {
			return '';
		}
		if (numbers[key]) {
			return n || key === 'count' ? st.count(n) : '';
		}
		return unit[key] ? st.bytes(n) : st.time(n);
	}

	function sum(key) {
		return spans[key] ? spans[key].reduce(function (all, n, i) {
			return all + (spans.kind[i] === 2 ? n : 0);
		}, 0) : 0;
	}

	// --- the table --------------------------------------------------------------------------------

	function ordered() {
		var key = st.state.sort, sign = st.state.order === 'up' ? 1 : -1, search = st.searcher(), list = [], i;

		for (i = 0; i < spans.name.length; i++) {
			if (has(i) && (!search.test || search.test(spans.name[i]))) {
				list.push(i);
			}
		}
		result.textContent = search.ok ? st.plural(list.length, 'row') : 'not a regular expression';
		if (key === 'tree') {
			return list;
		}
		if (key !== 'name' && columns().indexOf(key) < 0) {
			key = spans.self ? 'self' : 'count';
		}
		return list.sort(function (a, b) {
			var x = key === 'name' ? spans.name[a] : value(a, key) || 0;
			var y = key === 'name' ? spans.name[b] : value(b, key) || 0;

			return (x < y ? -1 : x > y ? 1 : 0) * sign || a - b;
		});
	}

	function depth(i) {
		return above(i).length - (processes() > 1 ? 1 : 0);
	}

	// Where a span stands, behind its name.
	function within(i) {
		var path = above(i).reverse();

		return path.length ? ' in ' + path.join(' ‹ ').slice(0, 300) : '';
	}

	function row(i, most) {
		var tr = st.make(body, 'tr', { tabindex: '0', 'data-span': i }), th = st.make(tr, 'th', { scope: 'row' });

		st.make(th, 'i', { 'class': 'dot' }).style.background = st.colour(spans.name[i].replace(':', '::'));
		st.make(th, 'span', { 'class': 'name', title: spans.name[i].slice(0, 1000) }, spans.name[i]);
		if (st.state.sort === 'tree') {
			th.style.paddingLeft = 10 + 16 * Math.min(depth(i), 20) + 'px';
		} else {
			st.make(th, 'span', { 'class': 'above' }, within(i));
		}
		columns().forEach(function (key) {
			var td = st.make(tr, 'td', { 'data-key': key }, text(i, key));

			if (key === 'self' && most) {
				td.style.backgroundSize = 100 * spans.self[i] / most + '% 3px';
			}
		});
		if (String(i) === st.state.span) {
			tr.setAttribute('aria-selected', 'true');
		}
	}

	function fill() {
		var list = ordered(), most = spans.self ? spans.self.reduce(function (m, n) { return Math.max(m, n); }, 0) : 0;

		body.textContent = '';
		list.slice(0, shown).forEach(function (i) { row(i, most); });
		more.hidden = list.length <= shown;
		more.textContent = 'Show ' + st.count(Math.min(PAGE, list.length - shown)) + ' more of ' + st.count(list.length);
		empty.hidden = list.length > 0;
		Object.keys(headers).forEach(function (key) {
			headers[key].setAttribute('aria-sort', key !== st.state.sort ? 'none' :
				st.state.order === 'up' ? 'ascending' : 'descending');
		});
	}

	function header(tr, key, label) {
		var th = st.make(tr, 'th', { scope: 'col', 'data-key': key, title: titles[key] || '' });

		headers[key] = th;
		st.make(th, 'button', { type: 'button' }, label).addEventListener('click', function () {
			var first = key === 'name' ? 'up' : 'down', same = st.state.sort === key;

			st.go({ sort: key, order: same ? (st.state.order === 'up' ? 'down' : 'up') : first });
		});
	}

	// --- one span ---------------------------------------------------------------------------------

	// Each percent of the spans lies between two percentiles that are next to each other: spread over
	// bins of equal ratio, they make a histogram.
	function histogram(list) {
		var low = Math.max(1, list[0]), high = Math.max(low * 1.01, list[100]), bins = new Array(60).fill(0), p, b, from, to;
		var step = Math.log(high / low) / bins.length;

		function bin(ns) {
			return Math.log(Math.max(low, ns) / low) / step;
		}
		for (p = 0; p < 100; p++) {
			from = Math.min(bin(list[p]), bins.length - 1e-9);
			to = Math.min(Math.max(bin(list[p + 1]), from), bins.length - 1e-9);
			for (b = Math.floor(from); b <= Math.floor(to); b++) {
				bins[b] += to > from ? (Math.min(to, b + 1) - Math.max(from, b)) / (to - from) : 1;
			}
		}
		return { bins: bins, at: function (ns) { return bin(ns) / bins.length; } };
	}

	function drawHistogram(canvas, i) {
		var list = spans.quantiles[i], h = histogram(list), ratio = window.devicePixelRatio || 1;
		var width = canvas.clientWidth, height = canvas.clientHeight, context = canvas.getContext('2d'), most;

		canvas.width = width * ratio;
		canvas.height = height * ratio;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		most = Math.max.apply(null, h.bins);
		context.fillStyle = st.colour(spans.name[i].replace(':', '::'));
		h.bins.forEach(function (n, b) {
			var tall = n ? Math.max(1, n / most * (height - 34)) : 0;

			context.fillRect(b * width / h.bins.length, height - 18 - tall, width / h.bins.length - 1, tall);
		});
		context.font = '11px system-ui, sans-serif';
		[['p50', list[50]], ['p99', list[99]]].forEach(function (mark) {
			var x = Math.min(width - 1, h.at(mark[1]) * width);

			if (mark[0] === 'p99' && x - h.at(list[50]) * width < 30) {
				return;
			}
			context.fillStyle = st.style('--text');
			context.fillRect(Math.round(x), 14, 1, height - 32);
			context.textAlign = x > width - 40 ? 'right' : 'left';
			context.fillText(mark[0], x > width - 40 ? x - 3 : x + 3, 12);
		});
		context.fillStyle = st.style('--muted');
		context.textAlign = 'left';
		context.fillText(st.time(list[0]), 0, height - 4);
		context.textAlign = 'right';
		context.fillText(st.time(list[100]), width, height - 4);
	}

	function pairs(parent, list) {
		var dl = st.make(parent, 'dl');

		list.forEach(function (pair) {
			st.make(dl, 'dt', {}, pair[0]);
			st.make(dl, 'dd', {}, pair[1]);
		});
	}

	function show() {
		var i = /^[0-9]+$/.test(st.state.span) ? +st.state.span : spans.name.indexOf(st.state.span), list, canvas, bar;

		detail.textContent = '';
		detail.hidden = !(i >= 0 && i < spans.name.length && has(i));
		if (detail.hidden) {
			return;
		}
		st.make(detail, 'button', { type: 'button', 'class': 'close', 'aria-label': 'close' }, '×')
			.addEventListener('click', function () { st.go({ span: '' }); });
		st.make(detail, 'h2', {}, spans.name[i].slice(0, 1000));
		st.make(detail, 'p', { 'class': 'above' }, above(i).join(' › ').slice(0, 2000) || 'outermost');
		bar = st.make(detail, 'div', { 'class': 'bar' });
		st.make(bar, 'button', { type: 'button' }, 'In the flame graph').addEventListener('click', function () {
			st.go({ view: 'flame', zoom: spans.name[i] }, true);
		});
		st.make(bar, 'button', { type: 'button' }, 'Longest in the timeline').addEventListener('click', function () {
			st.go({ view: 'timeline' }, true);
			st.views.find(function (v) { return v.id === 'timeline'; }).zoomToName(spans.name[i]);
		});
		list = spans.quantiles ? spans.quantiles[i] : [];
		if (list.length > 4) {
			st.make(detail, 'h3', {}, 'Wall time of ' + st.plural(spans.count[i], 'span'));
			canvas = st.make(detail, 'canvas', { 'class': 'histogram', role: 'img', 'aria-label': 'histogram of wall times' });
			drawHistogram(canvas, i);
		}
		if (list.length) {
			pairs(detail, [['p50', 0.5], ['p90', 0.9], ['p99', 0.99], ['p99.9', 0.999]].map(function (q) {
				return [q[0], st.time(quantile(i, q[1]))];
			}).concat([['min', st.time(spans.min[i])], ['max', st.time(spans.max[i])]]));
		}
		pairs(detail, ['count', 'abandoned', 'open', 'wall', 'busy', 'self', 'cpu', 'self_cpu', 'user', 'system', 'run_delay',
			'switches', 'preempted', 'alloc', 'inuse'].filter(function (key) { return spans[key] && text(i, key); })
			.map(function (key) { return [key.replace(/_/g, ' '), text(i, key)]; }));
	}

	st.views.push({
		id: 'spans',
		label: 'Spans',
		make: function (root) {
			var bar = st.make(root, 'div', { 'class': 'bar' }), split, table, tr, scroll;

			st.make(bar, 'button', { type: 'button' }, 'As a tree').addEventListener('click', function () {
				st.go({ sort: st.state.sort === 'tree' ? 'self' : 'tree', order: 'down' });
			});
			result = st.make(bar, 'span', { 'class': 'result' });
			split = st.make(root, 'div', { 'class': 'split' });
			scroll = st.make(split, 'div', { 'class': 'scroll' });
			table = st.make(scroll, 'table', { 'class': 'spans' });
			tr = st.make(st.make(table, 'thead'), 'tr');
			header(tr, 'name', 'span');
			columns().forEach(function (key) { header(tr, key, key.replace(/_/g, ' ')); });
			body = st.make(table, 'tbody');
			empty = st.make(scroll, 'p', { 'class': 'hint', hidden: '' }, 'No spans to show.');
			more = st.make(scroll, 'button', { type: 'button', hidden: '' });
			more.addEventListener('click', function () {
				shown += PAGE;
				fill();
			});
			detail = st.make(split, 'aside', { hidden: '' });
			body.addEventListener('click', function (event) {
				var chosen = event.target.closest('tr');

				st.go({ span: chosen.dataset.span });
			});
			body.addEventListener('keydown', function (event) {
				var chosen = event.target.closest('tr'), next;

				if (event.key === 'Enter') {
					st.go({ span: chosen.dataset.span });
				} else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
					next = event.key === 'ArrowDown' ? chosen.nextElementSibling : chosen.previousElementSibling;
					event.preventDefault();
					if (next) {
						next.focus();
					}
				}
			});
		},
		show: function () {
			var focused = document.activeElement && document.activeElement.dataset.span;

			fill();
			show();
			if (focused !== undefined) {
				focused = body.querySelector('tr[data-span="' + focused + '"]');
				if (focused) {
					focused.focus();
				}
			}
		}
	});

	// --- overview and losses ----------------------------------------------------------------------

	function card(parent, label, figure, note) {
		var div = st.make(parent, 'div', { 'class': 'card' });

		st.make(div, 'div', { 'class': 'label' }, label);
		st.make(div, 'div', { 'class': 'figure' }, figure);
		st.make(div, 'div', { 'class': 'label' }, note || '');
		return div;
	}

	function bars(parent, title, list, whole, act) {
		var section = st.make(parent, 'section', { 'class': 'bars' });

		st.make(section, 'h2', {}, title);
		if (!list.length) {
			st.make(section, 'p', { 'class': 'hint' }, 'none');
		}
		list.forEach(function (item) {
			var line = st.make(section, act ? 'button' : 'div', { 'class': 'line' }), what;

			what = st.make(line, 'span', { 'class': 'what', title: item.name.slice(0, 1000) });
			st.make(what, 'span', { 'class': 'name' }, item.name);
			st.make(what, 'span', { 'class': 'above' }, item.above);
			st.make(line, 'span', { 'class': 'amount' }, st.time(item.n) + '  ' + st.share(item.n, whole));
			var fill = st.make(st.make(line, 'span', { 'class': 'track' }), 'i');

			fill.style.width = Math.min(100, 100 * item.n / (whole || 1)) + '%';
			fill.style.background = st.colour(item.colour);
			if (act) {
				line.addEventListener('click', function () { act(item); });
			}
		});
	}

	// What stands in the losses that is a loss: counts above 0.
	function losses() {
		return st.data.losses.filter(function (loss) { return loss.count > 0; });
	}

	function hits() {
		return st.data.timeline.spans * 2 + st.data.events.reduce(function (n, e) { return n + e.count; }, 0);
	}

	function makeOverview(root) {
		var cards = st.make(root, 'div', { 'class': 'cards' }), lost = losses(), all, columns_, i;
		var self = sum('self'), list = [];

		all = sum('count') + sum('open');
		card(cards, 'traced for', st.time(st.data.duration), new Date(st.data.start_ms).toISOString().replace('T', ' ')
			.slice(0, 19) + ' UTC');
		card(cards, 'spans', st.count(all), st.plural(spans.kind.filter(function (k) { return k === 2; }).length, 'path'));
		card(cards, 'threads', st.count(st.data.threads.length), st.plural(processes(), 'process', 'processes'));
		card(cards, 'inside spans', st.time(self), 'self time of all threads');
		if (st.data.cpu) {
			card(cards, 'on the CPU', st.time(sum('self_cpu')), st.share(sum('self_cpu'), self) + ' of the self time');
		}
		card(cards, 'losses', lost.length ? st.plural(lost.length, 'cause') : 'none',
			lost.length ? 'see Losses' : 'every count is exact').classList.add(lost.length ? 'bad' : 'good');
		columns_ = st.make(root, 'div', { 'class': 'columns' });
		for (i = 0; i < spans.name.length; i++) {
			if (spans.kind[i] === 2 && spans.self && spans.self[i]) {
				list.push({
					name: spans.name[i], above: within(i), n: spans.self[i], colour: spans.name[i].replace(':', '::'), span: i
				});
			}
		}
		list.sort(function (a, b) { return b.n - a.n; });
		bars(columns_, 'Where the time went (self)', list.slice(0, 10), self, function (item) {
			st.go({ view: 'spans', span: String(item.span) }, true);
		});
		list = st.data.threads.map(function (t) {
			return { name: (t.comm || '?') + '-' + t.tid, above: '', n: t.inside, colour: 't' + t.tid };
		}).sort(function (a, b) { return b.n - a.n; });
		bars(columns_, 'Threads, by time inside spans', list.slice(0, 10), st.data.duration, null);
		st.make(root, 'p', { 'class': 'hint' }, 'Keys: 1 to 5 for the parts, / to search by a regular expression, t for the ' +
			'theme, Esc to reset. The address of this page follows what you see: copy it to send a view.');
	}

	function rows(parent, title, head, list, none) {
		var table, tr;

		st.make(parent, 'h2', {}, title);
		if (!list.length) {
			st.make(parent, 'p', { 'class': 'hint' }, none);
			return;
		}
		table = st.make(parent, 'table');
		tr = st.make(st.make(table, 'thead'), 'tr');
		head.forEach(function (label) { st.make(tr, 'th', { scope: 'col' }, label); });
		list.slice(0, 2000).forEach(function (cells) {
			tr = st.make(table, 'tr');
			cells.forEach(function (cell, i) {
				st.make(tr, i ? 'td' : 'th', /^-?[0-9][0-9,]*$/.test(cell) ? { 'class': 'number' } : {}, cell);
			});
		});
	}

	function makeLosses(root) {
		var part = st.make(root, 'div', { 'class': 'text' }), n = hits();

		rows(part, 'Lost', ['cause', 'count', 'what it means'], losses().map(function (loss) {
			return [loss.name, st.count(loss.count), loss.text];
		}), 'Nothing: all that the probes saw is here.');
		rows(part, 'Not probed', ['marker', 'why'], st.data.refused.map(function (r) { return [r.marker, r.why]; }),
			'No marker was left out.');
		st.make(part, 'h2', {}, 'What tracing cost');
		st.make(part, 'p', {}, n ? 'The target hit probes at least ' + st.count(n) + ' times. A hit takes 0.45 to 1 µs on ' +
			'current machines, so some ' + st.time(n * 450) + ' to ' + st.time(n * 1000) + ' of its threads’ time, ' +
			st.share(n * 1000, st.data.duration * Math.max(1, st.data.threads.length)) +
			' at most of the time that they were traced. Times of spans hold the hits inside them.' :
			'No span was recorded by itself, so the number of hits is not known.');
		rows(part, 'Events', ['event', 'thread', 'count', 'sum'], st.data.events.map(function (e) {
			return [e.name, (e.comm || '?') + '-' + e.tid, st.count(e.count), e.sum === undefined ? '' : st.count(e.sum)];
		}), 'No events.');
		st.make(part, 'p', { 'class': 'hint' }, 'Made by spantrace ' + st.data.version +
			(st.data.kernel ? ' on Linux ' + st.data.kernel : '') + '.');
	}

	st.views.unshift({ id: 'overview', label: 'Overview', make: makeOverview, show: function () { return; } });
	st.views.push({ id: 'losses', label: 'Losses', make: makeLosses, show: function () { return; } });
}(spantrace));

// SPDX-License-Identifier: MIT
// The flame graph of the page: stacks by any value that was measured, threads apart or together.
'use strict';
(function (st) {
	var ROW = 20, LEAST = 0.5;
	var trees = {}, tree = null, surface, boxes = [], info, pick, apart, result, tip;

	function stack() {
		return st.data.stacks.find(function (s) { return s.value === st.state.value; }) || st.data.stacks[0];
	}

	// Depth first: name, depth, self, total, end (after the last below it), start (in weight).
	// Without threads, frames of one name below one parent are one.
	function build(source, together) {
		var names = ['all'], depths = [0], selfs = [0], children = [new Map()], open = [0], i, depth, key, at;

		for (i = 0; i < source.depth.length; i++) {
			depth = source.depth[i] - (together ? 1 : 0);
			if (depth === 0) {
				open.length = 1;
				selfs[0] += source.self[i];
				continue;
			}
			open.length = depth;
			key = source.name[i];
			at = children[open[depth - 1]].get(key);
			if (at === undefined) {
				at = names.length;
				names.push(st.data.frames[key]);
				depths.push(depth);
				selfs.push(0);
				children.push(new Map());
				children[open[depth - 1]].set(key, at);
			}
			selfs[at] += source.self[i];
			open.push(at);
		}
		return order(names, depths, selfs, children);
	}

	function order(names, depths, selfs, children) {
		var t = { name: [], depth: [], self: [], total: [], end: [], start: [], parent: [], deepest: 0 };
		var pending = [[0, -1]], filled = [], next, i, below;

		while (pending.length) {
			next = pending.pop();
			i = t.name.push(names[next[0]]) - 1;
			t.depth.push(depths[next[0]]);
			t.self.push(selfs[next[0]]);
			t.total.push(selfs[next[0]]);
			t.end.push(i + 1);
			t.parent.push(next[1]);
			t.deepest = Math.max(t.deepest, depths[next[0]]);
			below = Array.from(children[next[0]].values());
			while (below.length) {
				pending.push([below.pop(), i]);
			}
		}
		for (i = t.name.length - 1; i > 0; i--) {
			t.total[t.parent[i]] += t.total[i];
			t.end[t.parent[i]] = Math.max(t.end[t.parent[i]], t.end[i]);
		}
		for (i = 0; i < t.name.length; i++) {
			t.start[i] = filled[i] = i ? filled[t.parent[i]] : 0;
			if (i) {
				filled[t.parent[i]] += t.total[i];
			}
		}
		return t;
	}

	function choose() {
		var together = st.state.threads !== 'apart', s = stack(), key;

		if (!s) {
			return;
		}
		key = s.value + together;
		tree = trees[key] || (trees[key] = build(s, together));
	}

	// The zoomed frame: its path of names, so that a link holds for every value; or the widest of a name.
	function zoomed() {
		var path, at = 0, i, j, best = 0;

		if (!st.state.zoom) {
			return 0;
		}
		path = st.state.zoom.split('\n');
		if (path.length === 1) {
			for (i = 1; i < tree.name.length; i++) {
				if ((tree.name[i] === path[0] || st.plain(tree.name[i]) === path[0]) &&
					(!best || tree.total[i] > tree.total[best])) {
					best = i;
				}
			}
			return best;
		}
		for (i = 1; i < path.length; i++) {
			for (j = at + 1; j < tree.end[at]; j = tree.end[j]) {
				if (tree.name[j] === path[i]) {
					break;
				}
			}
			if (j >= tree.end[at]) {
				return at;
			}
			at = j;
		}
		return at;
	}

	function pathOf(i) {
		var path = [];

		for (; i >= 0; i = tree.parent[i]) {
			path.unshift(tree.name[i]);
		}
		return path;
	}

	function zoomTo(i) {
		st.go({ zoom: i > 0 ? pathOf(i).join('\n') : '' }, true);
	}

	// Everything, and a thread.
	function isPlain(i) {
		return tree.depth[i] < (st.state.threads === 'apart' ? 2 : 1);
	}

	function box(context, i, x, y, w, faded, search) {
		var hit = search.test && search.test(tree.name[i]), text;

		context.globalAlpha = faded ? 0.5 : 1;
		context.fillStyle = hit ? st.style('--match') : isPlain(i) ? st.style('--neutral') :
			st.colour(tree.name[i]);
		context.fillRect(x, y, w > 2.4 ? w - 0.6 : w, ROW - 1);
		if (w > 24) {
			text = st.fitted(context, tree.name[i], w - 8);
			context.fillStyle = st.style('--text');
			context.globalAlpha = 1;
			context.fillText(text, x + 4, y + ROW / 2);
		}
		context.globalAlpha = 1;
		boxes.push(x, y, w, i);
	}

	function draw(context, width, height, scroll) {
		var zoom = zoomed(), scale = width / (tree.total[zoom] || 1), search = st.searcher(), i, x, y, w, up = [];

		boxes = [];
		for (i = tree.parent[zoom]; i >= 0; i = tree.parent[i]) {
			up.push(i);
		}
		up.forEach(function (at) {
			y = tree.depth[at] * ROW - scroll;
			if (y > -ROW && y < height) {
				box(context, at, 0, y, width, true, search);
			}
		});
		for (i = zoom; i < tree.end[zoom];) {
			w = tree.total[i] * scale;
			y = tree.depth[i] * ROW - scroll;
			if (w < LEAST || y > height) {
				i = tree.end[i];
				continue;
			}
			x = (tree.start[i] - tree.start[zoom]) * scale;
			if (y > -ROW) {
				box(context, i, x, y, w, false, search);
			}
			i++;
		}
		if (!tree.total[0]) {
			context.fillStyle = st.style('--muted');
			context.fillText('Nothing to show: the trace holds no ' + stack().value + ' of any span.', 8, 40);
		}
	}

	function at(event) {
		var place = surface.canvas.getBoundingClientRect(), x = event.clientX - place.left, i;
		var y = event.clientY - place.top;

		for (i = 0; i < boxes.length; i += 4) {
			if (y >= boxes[i + 1] && y < boxes[i + 1] + ROW && x >= boxes[i] && x < boxes[i] + boxes[i + 2]) {
				return boxes[i + 3];
			}
		}
		return -1;
	}

	function told(i) {
		var unit = stack().unit, text;

		text = st.figure(unit, tree.total[i]) + ' (' + st.share(tree.total[i], tree.total[0]) + ')';
		if (tree.self[i] && tree.self[i] !== tree.total[i]) {
			text += ', self ' + st.figure(unit, tree.self[i]) + ' (' + st.share(tree.self[i], tree.total[0]) + ')';
		}
		return text;
	}

	function say() {
		var search = st.searcher(), sum = 0, count = 0, until = 0, zoom = zoomed(), i;

		info.textContent = zoom ? pathOf(zoom).slice(1).join(' › ') + '  ' + told(zoom) :
			stack().value + ', ' + st.figure(stack().unit, tree.total[0]) + ' in all';
		if (!search.test) {
			result.textContent = search.ok ? '' : 'not a regular expression';
			return;
		}
		for (i = 1; i < tree.name.length; i++) {
			if (search.test(tree.name[i])) {
				count++;
				if (i >= until) {
					sum += tree.total[i];
					until = tree.end[i];
				}
			}
		}
		result.textContent = 'matched ' + st.share(sum, tree.total[0]) + ' in ' + st.plural(count, 'frame');
	}

	function make(root) {
		var bar = st.make(root, 'div', { 'class': 'bar' });

		pick = st.make(bar, 'select', { 'aria-label': 'value' });
		st.data.stacks.forEach(function (s) {
			st.make(pick, 'option', { value: s.value }, s.value.replace(/_/g, ' '));
		});
		pick.addEventListener('change', function () { st.go({ value: pick.value }); });
		var label = st.make(bar, 'label');
		apart = st.make(label, 'input', { type: 'checkbox' });
		label.append(' threads apart');
		apart.addEventListener('change', function () {
			st.go({ threads: apart.checked ? 'apart' : '', zoom: '' });
		});
		st.make(bar, 'button', { type: 'button', 'data-act': 'reset' }, 'Reset zoom').addEventListener('click',
			function () { zoomTo(0); });
		info = st.make(bar, 'span', { 'class': 'info' });
		result = st.make(bar, 'span', { 'class': 'result' });
		surface = st.surface(root, 'flame graph', function () {
			return tree ? (tree.deepest + 2) * ROW : 0;
		}, function (context, width, height, scroll) {
			if (tree) {
				draw(context, width, height, scroll);
			}
		});
		tip = st.tip(surface.box);
		surface.box.addEventListener('click', function (event) {
			var i = at(event);

			if (i >= 0) {
				zoomTo(i);
			}
		});
		surface.box.addEventListener('mousemove', function (event) {
			var i = at(event);

			tip(event, i < 0 ? null : [tree.name[i], told(i)]);
		});
	}

	st.views.push({
		id: 'flame',
		label: 'Flame graph',
		make: make,
		show: function () {
			choose();
			if (!tree) {
				info.textContent = 'Nothing to show: no time was measured.';
				return;
			}
			pick.value = stack().value;
			apart.checked = st.state.threads === 'apart';
			say();
			surface.paint();
		},
		boxes: function () { return boxes; },
		tree: function () { return tree; }
	});
}(spantrace));

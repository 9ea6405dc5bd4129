// SPDX-License-Identifier: MIT
// The page around its parts: heading, search, theme, keys, and which part is shown.
'use strict';
(function (st) {
	var parts = {}, tabs = {}, made = {}, input, theme, order = ['overview', 'spans', 'flame', 'timeline', 'losses'];

	st.views.sort(function (a, b) { return order.indexOf(a.id) - order.indexOf(b.id); });

	function current() {
		return st.views.find(function (view) { return view.id === st.state.view; }) || st.views[0];
	}

	function show() {
		var view = current();

		if (st.state.theme) {
			document.documentElement.setAttribute('data-theme', st.state.theme);
		} else {
			document.documentElement.removeAttribute('data-theme');
		}
		theme.textContent = st.isDark() ? 'Light' : 'Dark';
		if (input.value !== st.state.search) {
			input.value = st.state.search;
		}
		st.views.forEach(function (other) {
			parts[other.id].hidden = other !== view;
			tabs[other.id].setAttribute('aria-selected', String(other === view));
		});
		if (!made[view.id]) {
			made[view.id] = true;
			view.make(parts[view.id]);
		}
		view.show();
	}

	// The overview's colours are set once, so a new theme makes it anew.
	function recolour() {
		parts.overview.textContent = '';
		made.overview = false;
		show();
	}

	function flip() {
		var dark = !st.isDark();

		st.go({ theme: dark === st.dark.matches ? '' : dark ? 'dark' : 'light' });
		recolour();
	}

	function key(event) {
		var typing = document.activeElement === input || document.activeElement.tagName === 'SELECT', n, view = current();

		if (event.key === 'Escape') {
			input.blur();
			st.go({ search: '', zoom: '', range: '', span: '' }, true);
		} else if (typing || event.metaKey || event.altKey || (event.ctrlKey && event.key !== 'f')) {
			return;
		} else if (event.key === '/' || (event.key === 'f' && event.ctrlKey)) {
			event.preventDefault();
			input.focus();
			input.select();
		} else if (event.key === 't') {
			flip();
		} else if (/^[1-9]$/.test(event.key)) {
			n = +event.key - 1;
			if (n < st.views.length) {
				st.go({ view: st.views[n].id }, true);
			}
		} else if (view.key && view.key(event)) {
			event.preventDefault();
		}
	}

	var header = st.make(document.body, 'header');
	var heading = st.make(header, 'div', { 'class': 'heading' });
	// A command without its folders.
	st.make(heading, 'h1', { title: st.data.target.slice(0, 2000) },
		st.data.target.startsWith(document.title) ? document.title.replace(/^[^ ]*\//, '') : document.title);
	st.make(heading, 'span', { 'class': 'sub' }, 'traced for ' + st.time(st.data.duration) + ' · spantrace ' + st.data.version +
		(st.data.sample ? ' · ' + st.data.sample + ' of root spans, not scaled' : ''));
	var nav = st.make(header, 'nav', { role: 'tablist' });
	st.views.forEach(function (view, i) {
		tabs[view.id] = st.make(nav, 'button', { type: 'button', role: 'tab', 'data-view': view.id, 'data-label': view.label, title: 'key ' + (i + 1) },
			view.label);
		tabs[view.id].addEventListener('click', function () { st.go({ view: view.id }, true); });
	});
	input = st.make(header, 'input', {
		type: 'search', placeholder: 'search (regex), or press /', 'aria-label': 'search spans by a regular expression'
	});
	input.addEventListener('input', function () { st.go({ search: input.value }); });
	theme = st.make(header, 'button', { type: 'button', 'class': 'theme', title: 'key t' });
	theme.addEventListener('click', flip);
	var main = st.make(document.body, 'main');
	st.views.forEach(function (view) {
		parts[view.id] = st.make(main, 'div', { 'class': 'part', id: view.id, role: 'tabpanel', hidden: '' });
	});
	document.addEventListener('keydown', key);
	window.addEventListener('hashchange', st.reload);
	window.addEventListener('popstate', st.reload);
	st.dark.addEventListener('change', recolour);
	st.listen(show);
	st.reload();
}(spantrace));

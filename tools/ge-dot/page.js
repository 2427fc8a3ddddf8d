(function () {
	var data = JSON.parse(document.getElementById('data').textContent), item = data.items, line = data.lines;
	var graph = document.querySelector('.graph'), svg = graph.querySelector('svg'), about = document.querySelector('.about');
	var q = document.getElementById('q'), found = document.getElementById('found');
	var W = svg.viewBox.baseVal.width, H = svg.viewBox.baseVal.height, scale, hits = [], at = -1, on = 0;
	var part = Array.prototype.slice.call(svg.querySelectorAll('.part')), top = part.map(function (p) { return +p.dataset.y });
	var node = function (i) { return document.getElementById('n' + i) };
	var path = svg.querySelectorAll('.lines path');

	/* Parts that are not in sight, nor next to one that is, are not laid out. */
	function cull() {
		var from = graph.scrollTop / scale, to = from + graph.clientHeight / scale, k;
		for (k = 0; k < part.length; k++)
			part[k].classList.toggle('in', (!k || top[k - 1] <= to) && (k + 2 >= part.length || top[k + 2] >= from));
	}
	/* The point (x, y) of the window stays where it is. */
	function zoom(to, x, y) {
		var box = graph.getBoundingClientRect(), was = scale;
		x = x === undefined ? box.width / 2 : x - box.left;
		y = y === undefined ? box.height / 2 : y - box.top;
		scale = Math.max(0.02, Math.min(4, to));
		svg.style.width = W * scale + 'px';
		svg.style.height = H * scale + 'px';
		if (was) {
			graph.scrollLeft = (graph.scrollLeft + x) * scale / was - x;
			graph.scrollTop = (graph.scrollTop + y) * scale / was - y;
		}
		cull();
	}
	function fit() { scale = 0; zoom(Math.min(1, graph.clientWidth / W)); graph.scrollTop = 0 }
	function go(i) {
		var r = node(i).querySelector('rect');
		if (scale < 0.6) zoom(1);
		graph.scrollLeft = (+r.getAttribute('x') + r.getAttribute('width') / 2 - svg.viewBox.baseVal.x) * scale - graph.clientWidth / 2;
		graph.scrollTop = (+r.getAttribute('y') + r.getAttribute('height') / 2 - svg.viewBox.baseVal.y) * scale - graph.clientHeight / 2;
	}
	function put(to, tag, text) { var e = document.createElement(tag); e.textContent = text; to.appendChild(e); return e }
	function link(to, i) {
		var a = put(put(to, 'dd', ''), 'a', item[i].o + ' ' + item[i].n);
		a.href = '#n' + i;
		a.onclick = function (e) { e.preventDefault(); show(i); go(i) };
	}
	function show(i) {
		var x = item[i], l, k, list;
		svg.querySelectorAll('.on').forEach(function (e) { e.classList.remove('on') });
		node(on = i).classList.add('on');
		about.textContent = '';
		put(about, 'h2', x.o + ' ' + x.n);
		list = put(about, 'dl', '');
		function row(what, text) { if (text) { put(list, 'dt', what); put(list, 'dd', text) } }
		row('name', x.m);
		row('graph', x.b);
		row('group', x.g && data.groups[x.g].n + ' ' + data.groups[x.g].t);
		row('operands', x.i && x.i.join(', '));
		row('results', x.t && x.t.join(', '));
		for (k in x.a) row(k, x.a[k]);
		put(list, 'dt', 'reads');
		for (k = 0; k < line.length; k++)
			if (line[k][1] == i) { path[k].classList.add('on'); link(list, line[k][0]) }
		put(list, 'dt', 'is read by');
		for (k = 0; k < line.length; k++)
			if (line[k][0] == i) { path[k].classList.add('on'); link(list, line[k][1]) }
	}
	function search() {
		var s = q.value.toLowerCase(), i, x;
		svg.querySelectorAll('.found').forEach(function (e) { e.classList.remove('found') });
		hits = [], at = -1;
		for (i = 1; s && i < item.length; i++) {
			x = item[i];
			if ((x.o + ' ' + x.n + ' ' + (x.m || '') + ' ' + (x.t || []).join(' ') + ' ' + (x.g ? data.groups[x.g].n : '')).toLowerCase().indexOf(s) >= 0) {
				hits.push(i);
				node(i).classList.add('found');
			}
		}
		found.textContent = s ? hits.length + ' found' : '';
		next(1);
	}
	function next(by) {
		if (!hits.length) return;
		at = (at + by + hits.length) % hits.length;
		found.textContent = at + 1 + ' of ' + hits.length;
		show(hits[at]);
		go(hits[at]);
	}
	q.oninput = search;
	q.onkeydown = function (e) { if (e.key == 'Enter') next(e.shiftKey ? -1 : 1) };
	document.getElementById('more').onclick = function () { zoom(scale * 1.4) };
	document.getElementById('less').onclick = function () { zoom(scale / 1.4) };
	document.getElementById('fit').onclick = fit;
	graph.addEventListener('wheel', function (e) {
		if (!e.ctrlKey) return;
		e.preventDefault();
		zoom(scale * Math.exp(-e.deltaY / 300), e.clientX, e.clientY);
	}, { passive: false });
	/* Drag with the mouse; a touch screen scrolls by itself. */
	graph.onpointerdown = function (e) {
		if (e.pointerType != 'mouse' || e.button) return;
		var x = e.clientX, y = e.clientY, left = graph.scrollLeft, top = graph.scrollTop;
		graph.onpointermove = function (m) { graph.scrollLeft = left + x - m.clientX; graph.scrollTop = top + y - m.clientY };
		graph.onpointerup = graph.onpointerleave = function () { graph.onpointermove = null };
	};
	svg.onclick = function (e) { var g = e.target.closest('.node'); if (g) show(+g.id.slice(1)) };
	document.querySelectorAll('a.go').forEach(function (a) {
		a.onclick = function (e) { var i = +a.hash.slice(2); e.preventDefault(); show(i); go(i); graph.scrollIntoView({ block: 'nearest' }) };
	});
	graph.onscroll = function () { requestAnimationFrame(cull) };
	scale = Math.min(1, graph.clientWidth / W);
	if (scale < 0.4 && item.length > 1) {
		scale = 0;
		zoom(0.7);
		go(1);
	} else
		fit();
})();

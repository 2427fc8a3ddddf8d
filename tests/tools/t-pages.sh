# Pages in a browser, at the widths of a telephone and of a desk, light and dark: nothing wider than the window, every word to be read.
. "$top/tests/lib.sh"
browser=$(command -v chromium || command -v google-chrome) || skip_all "pages in a browser" "no chromium"
HONE_KB=$PWD/kb
export HONE_KB
cat >net.text <<'END'
hone-text 1
module ir=10 opset=20
graph main {
  input x: f32[8,16]
  b = Relu(x)
  c = Cast(b) {to=1}
  d = Sigmoid(c)
  output d = d
}
END
hone passes -q --set batch=1 --until plan "$top/examples/digits/digits.onnx" -o planned.g && ge-dot -q --html planned.g -o graph.html &&
	hone passes -q --set batch=1 --until layout "$top/examples/digits/digits.onnx" -o m.g &&
	tune-op -q --runner fake --trials 4 --report tuning.html m.g -o tuned.g && tune-graph -q --trials 0 --report groups.html m.g -o grouped.g &&
	ge-load net.text -o net.g && hone bisect -q net.g --report errors.html && hone advise -q net.g --seconds 0.05 --report advice.html
ok $? "the pages are made"
nothing "a tuning's rows stand by their share of the time" "$(grep -o '[0-9.]*%</td>' tuning.html | sort -c -rn 2>&1)"
pages="graph tuning groups errors advice"
shown() { timeout 150 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$PWD/profile" --allow-file-access-from-files "$@" 2>/dev/null; }
# A page in a frame has the colours of the frame.
framed() { # SCHEME WIDTH HEIGHT
	for page in $pages; do printf '<iframe name="%s, %s" width=%s height=%s style="color-scheme:%s" src=%s.html></iframe>' $page "$1" "$2" "$3" "$1" $page; done
}

# Of all text: its colour against what lies behind it, by the formula of WCAG 2.
cat >contrast.js <<'END'
function luminance(c) {
	const v = c.map(x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
	return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]
}
function contrast(a, b) { return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) }
function numbers(text) { return (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number) }
END
{
	framed light 390 900
	framed dark 1280 900
	cat <<'END'
<pre id=said></pre><script src=contrast.js></script><script>
function faint(w, d) {
	for (const e of d.body.querySelectorAll("*")) {
		const words = [...e.childNodes].filter(n => n.nodeType == 3 && /[\p{L}\p{N}]/u.test(n.data))
		if (!words.length || !e.getClientRects().length || e.closest("script, style, title")) continue
		const s = w.getComputedStyle(e)
		let under = e, back
		do back = numbers(w.getComputedStyle(under).backgroundColor)
		while (back[3] === 0 && (under = under.parentElement))
		if (contrast(luminance(numbers(e.closest("svg") ? s.fill : s.color)), luminance(back)) < 4.5) return words[0].data
	}
}
onload = () => {
	for (const f of document.querySelectorAll("iframe")) {
		const w = f.contentWindow, d = f.contentDocument, wide = d.documentElement.scrollWidth, word = faint(w, d)
		said.textContent += f.name + ": " + (wide <= f.width ? "fits" : "is " + wide + " wide") + ", " +
			(d.body.innerText.length < 40 ? "blank" : word ? "'" + word + "' is faint" : "readable") + "\n"
	}
}
</script>
END
} >probe.html
is "$(shown --virtual-time-budget=5000 --dump-dom "file://$PWD/probe.html" | sed -n '/id="said">/,/^<\/pre>/ { s/.*id="said">//; /:/p; }')" \
	"$(for scheme in light dark; do printf "%s, $scheme: fits, readable\n" $pages; done)" "each page at 390 and at 1280 pixels"

# A picture of them all: paper and ink, which the commonest colour of each and those far from it are.
{
	printf '<style>body{margin:0}iframe{border:0;float:left}</style><div style="width:%spx">' $((390 * $(echo $pages | wc -w)))
	framed light 390 700
	framed dark 390 700
} >all.html
shown --virtual-time-budget=5000 --window-size=$((390 * $(echo $pages | wc -w))),1400 --screenshot=shot.png "file://$PWD/all.html" >/dev/null
cat >pixels.html <<'END'
<p id=said></p><img id=shot src=shot.png><script src=contrast.js></script><script>
onload = () => {
	const paint = document.createElement("canvas").getContext("2d"), w = paint.canvas.width = shot.width, h = paint.canvas.height = shot.height
	paint.drawImage(shot, 0, 0)
	for (let y = 0; y < h; y += 700)
		for (let x = 0; x < w; x += 390) {
			const p = paint.getImageData(x, y, 390, 700).data, count = new Map()
			for (let i = 0; i < p.length; i += 4) count.set(p[i] << 16 | p[i + 1] << 8 | p[i + 2], 1 + (count.get(p[i] << 16 | p[i + 1] << 8 | p[i + 2]) || 0))
			const all = [...count].map(c => [luminance([c[0] >> 16, c[0] >> 8 & 255, c[0] & 255]), c[1]]).sort((a, b) => b[1] - a[1])
			const ink = all.filter(c => contrast(c[0], all[0][0]) >= 4.5).reduce((n, c) => n + c[1], 0) / (390 * 700)
			said.textContent += (all[0][0] > 0.8 ? "light" : all[0][0] < 0.05 ? "dark" : "grey") + (ink > 0.01 ? " inked" : " blank") + ";"
		}
}
</script>
END
is "$(shown --virtual-time-budget=5000 --dump-dom "file://$PWD/pixels.html" | sed -n 's/.*id="said">\([^<]*\)<.*/\1/p')" \
	"$(for scheme in light dark; do for page in $pages; do printf '%s inked;' $scheme; done; done)" "pictures of the pages, light and dark"
done_testing

# Pages in a browser, at the widths of a telephone and of a desk: not blank, nothing wider than the window.
. "$top/tests/lib.sh"
browser=$(command -v chromium || command -v google-chrome) || skip_all "pages in a browser" "no chromium"
HONE_KB=$PWD/kb
export HONE_KB
hone passes -q --set batch=1 --until layout "$top/examples/digits/digits.onnx" -o m.g &&
	tune-op -q --runner fake --trials 4 --report tuning.html m.g -o tuned.g && ge-dot -q --html m.g -o graph.html
ok $? "the pages are made"
nothing "a tuning's rows stand by their share of the time" "$(grep -o '[0-9.]*%</td>' tuning.html | sort -c -rn 2>&1)"
shown() { timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --allow-file-access-from-files "$@" 2>/dev/null; }
for page in tuning graph; do
	for width in 390 1280; do
		cat >probe.html <<-END
			<iframe id=page width=$width height=900 src=$page.html></iframe><p id=said></p><script>onload = () => {
			const d = document.getElementById("page").contentDocument, e = d.documentElement
			document.getElementById("said").textContent = (e.scrollWidth <= $width ? "fits" : "is " + e.scrollWidth + " wide") + ", " +
				(d.body.innerText.length > 40 || d.querySelector("svg *") ? "text" : "blank") }</script>
		END
		is "$(shown --virtual-time-budget=3000 --dump-dom "file://$PWD/probe.html" | sed -n 's/.*id="said">\([^<]*\)<.*/\1/p')" "fits, text" "$page, $width wide"
	done
	rm -f shot.png
	shown --window-size=390,900 --screenshot=shot.png "file://$PWD/$page.html" >/dev/null
	# One colour compresses to some 3 KB.
	is "$(($(wc -c <shot.png) > 5000))" 1 "a picture of $page"
done
done_testing

# Passes of one's own: hone build --pass.
. "$top/tests/lib.sh"
rc() { "$@" >out 2>err; echo $?; }
ge-load -o net.g - <<'END'
hone-text 1
module ir=8 opset=17
graph main {
  input x: f32[4,8]
  r = Relu(x)
  y = Neg(r)
  output y = y
}
END
swap='ge-dump | sed "s/= Relu(/= Abs(/" | ge-load'
is "$(rc hone passes net.g --pass "$swap" --until fuse -o a.g) $(ge-dump a.g | grep -c Abs) $(rc hone passes net.g --pass "fuse:$swap" --until fuse -o b.g) $(ge-dump b.g | grep -c Abs)" \
	"0 1 0 1" "after prune, and after a stage that is named"
same_graph a.g b.g
ok $? "the same graph by both"
is "$(rc hone passes net.g --pass "$swap" --pass 'ge-dump | sed "s/= Abs(/= Exp(/" | ge-load' --until prune -o c.g) $(ge-dump c.g | grep -c Exp)" "0 1" "two, in their order"
is "$(rc hone build net.g -q -o net --pass "$swap") $(ls net.d | grep own) $(rc run-cmp net.so a.g)" "0 08-own-ge-dump.g 0" "hone build: its graph is kept, its numbers are the library's"
refused() { # CODE MESSAGE OPTION...
	want="$1 $2" && shift 2
	is "$(rc hone build net.g -o never/m "$@") $(cat err)$(ls -d never 2>/dev/null)" "$want" "refused: $*"
}
refused 64 "hone: --pass no:cat: there is no stage 'no'; hone passes --list" --pass no:cat
refused 64 "hone: --pass emit:cat: nothing comes between emit and the library" --pass emit:cat
refused 64 "hone: --pass fuse:: which command?" --pass fuse:
refused 64 "hone: --pass :: there is no stage ''; hone passes --list" --pass :
refused 65 "hone: --pass exit 3: the command ended with 3" --pass 'exit 3'
refused 65 "ge-shape: own:0: empty; a graph stream expected" --pass true
refused 65 "ge-shape: own:55: the stream is cut short (a string of length 17)" --pass 'head -c 64'
done_testing

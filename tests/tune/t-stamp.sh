# Traces that are kept say which stages they are for; for others they are no result.
. "$top/tests/lib.sh"
HONE_KB=$PWD/kb
export HONE_KB
hone passes -q --set batch=1 --until layout "$top/examples/digits/digits.onnx" -o plain.g
tune-op --quiet --runner fake --trials 24 plain.g -o tuned.g
ge-dump tuned.g >tuned.txt
traces=$(grep -c 'trace="# trace 1 ' tuned.txt)

ge-plan --quiet tuned.g -o planned.g 2>err && ge-emit --quiet --print-traces planned.g >traces 2>>err && [ "$traces" -ge 3 ] && [ ! -s err ]
ok $? "$traces traces that fit: used without a word"
ge-plan --quiet plain.g | ge-emit --quiet --print-traces >default 2>err && ! cmp -s traces default
ok $? "and not what is scheduled by default"

# Other stages: a digest that is not theirs. Another version of the language. No stamp at all.
sed 's/trace="# trace 1 [0-9a-f]*/trace="# trace 1 00000000000000000000000000000000/' tuned.txt | ge-load -o other.g
ge-plan other.g -o other.planned.g 2>err
[ $? = 0 ] && [ "$(grep -c '^ge-plan: [^ ]*/[^ ]* (Fused): its trace' err)" = "$traces" ] && [ "$traces" -gt 0 ]
ok $? "made for other stages: a warning that names the node"
ge-emit --quiet --print-traces other.planned.g >others 2>/dev/null && same others default
ok $? "and the default schedule is taken"
sed 's/trace="# trace 1 /trace="# trace 2 /' tuned.txt | ge-load | ge-plan --quiet 2>err | ge-emit --quiet --print-traces >others 2>/dev/null && same others default
ok $? "another version of the language: the same"
sed 's/trace="# trace 1 [0-9a-f]*\\n/trace="/' tuned.txt | ge-load | ge-plan --quiet 2>err | ge-emit --quiet --print-traces >others 2>>err && same others traces && [ ! -s err ]
ok $? "written by hand, without a stamp: taken"
sed 's/trace="# trace 1 [0-9a-f]*\\n/trace="at nothing nowhere\\n/' tuned.txt | ge-load | ge-plan --quiet >never.g 2>err
[ $? = 65 ] && grep -q 'its trace: line 1: at: ' err
ok $? "and refused where it does not apply"
done_testing

# tune-grad calibrate --mpi: through OpenMPI's own mpirun, with 2 and 4 ranks; a rank that is killed; more ranks than it has room for.
. "$top/tests/lib.sh"
command -v mpirun >/dev/null && [ -e "$(ldconfig -p | sed -n 's/.*libmpi.so.40.*=> //p' | head -1)" ] || skip_all "calibrate through OpenMPI" "no OpenMPI"
# Ranks that still run, after a moment: mpirun does not wait for them.
left() { for i in $(seq 20); do [ -n "$(running)" ] || return; sleep 0.1; done; running; }
running() { for k in $ranks; do [ -e /proc/$k ] && [ "$(sed 's/.*) //' /proc/$k/stat 2>/dev/null | cut -c1)" != Z ] && echo "rank $k is left"; done; }
fault() { # what, expected code, expected words: one line, within 5 s of start (or $limit, for mpirun takes its time) where it is not slow, no rank left
	took=$(($(date +%s) - start))
	nothing "$1" "$([ $rc = "$2" ] || echo "exit $rc"; [ "$(wc -l <err)" = 1 ] || echo "not one line"; grep -q "$3" err || cat err
		[ $took -le $((${limit:-5} + 2 * slow)) ] || echo "$took s"; left)"
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
slow=60 # seconds that a curve takes at least; where it is more than 3, what is timed here gets as many more
for n in 2 4; do
	start=$(date +%s)
	timeout 60 tune-grad calibrate --mpi -n $n --max 64k -o mpi.tsv >out 2>&1
	nothing "a curve through OpenMPI, $n ranks" "$([ $? = 0 ] || cat out; head -1 mpi.tsv | grep -q "MPI, $n ranks" && awk -F'\t' '/^#/ { next }
		NF != 2 || $1 <= b || $2 < t || $2 <= 0 { print } { b = $1; t = $2; k++ } END { if (k < 8 || b != 65536) print k " points, last " b }' mpi.tsv || echo "no curve")"
	took=$(($(date +%s) - start))
	[ $took -ge $slow ] || slow=$took
done
[ $slow -gt 3 ] || slow=0
rm -f mpi.tsv
long() { # a calibration that lasts; its pid in pid, those of its ranks in ranks
	tune-grad calibrate --mpi -n 2 --max 256M --timeout $((1 + slow)) -o mpi.tsv >out 2>err &
	pid=$!
	ranks=
	for i in $(seq 100); do # mpirun's children
		mpirun=$(pgrep -P $pid | head -1)
		[ -z "$mpirun" ] || ranks=$(pgrep -P $mpirun -f 'rank --mpi' | tr '\n' ' ')
		[ "$(echo $ranks | wc -w)" = 2 ] && break
		sleep 0.1
	done
	sleep 1
	set -- $ranks
	first=$1 second=$2
}
long; start=$(date +%s); kill -KILL $second; wait $pid; rc=$?
fault "a rank of OpenMPI that is killed" 71 'mpirun ended with 137: process rank 1 .*signal 9'
long; start=$(date +%s); kill -STOP $second; wait $pid; rc=$?
limit=12 fault "a rank of OpenMPI that is stopped" 69 'a rank is silent for [0-9]* s'
long; start=$(date +%s); kill -STOP $first; wait $pid; rc=$?
limit=12 fault "the first of them" 69 'a rank is silent for [0-9]* s\|another rank is silent\|no answer within [0-9]* s from: mpirun'
ranks=
nothing "writes no curve" "$(ls mpi.tsv 2>/dev/null; [ $rc = 69 ] || echo "exit $rc")"
start=$(date +%s); OMPI_MCA_rmaps_base_oversubscribe=0 tune-grad calibrate --mpi -n 1024 >out 2>err; rc=$?
fault "more ranks than OpenMPI has slots for" 69 'mpirun ended with 1: There are not enough slots'
done_testing

# Random chains of quantised layers: every quantiser of the file rounds, in integers, in floats and mixed, on the evaluator and in libraries
# (rounds.py says what is compared).
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || skip_all "chains of quantised layers" "no python with onnx and onnxruntime (HONE_PYTHON)"
targets=x86-64
case $(uname -m) in x86_64) ;; *) targets=native ;; esac
! grep -qw avx2 /proc/cpuinfo 2>/dev/null || targets=$targets,x86-64-v3
within "$python" -B "$top/tests/passes/rounds.py" --seeds 1:9
within "$python" -B "$top/tests/passes/rounds.py" --seeds 9:10 --libraries "$targets"
done_testing

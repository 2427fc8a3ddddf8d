# The passes in random orders on random models of branches and loops (order.c, which runs ONNX's cases by itself).
. "$top/tests/lib.sh"
[ -n "${HONE_PYTHON-}" ] || skip_all "models of branches and loops" "no HONE_PYTHON"
mkdir models && "$HONE_PYTHON" -B "$top/tests/model/control_models.py" "${SEED:-1}" "${COUNT:-100}" models
prepared $? "models of branches and loops"
within "$top/build/check/order" models/*.onnx
done_testing

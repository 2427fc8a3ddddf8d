# The passes in random orders: the cases of the installed onnx, 2,000 models of branches and loops; what is left goes out as valid ONNX.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnx' 2>/dev/null || skip_all "passes in random orders" "no python with onnx (HONE_PYTHON)"
mkdir data models out
"$python" -B "$top/tests/conformance/folders.py" data && "$python" -B "$top/tests/model/control_models.py" 1 2000 models
ok $? "models"
HONE_ONNX_DATA=$PWD/data within "$top/build/check/order" -t 5 -x out
within "$top/build/check/order" -t 2 -x out models/*.onnx
"$python" -B - out/*.onnx <<'END'
import sys, onnx
bad = 0
for path in sys.argv[1:]:
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as e:
        bad += 1
        print("#", path, str(e).split("\n")[0])
sys.exit(bad > 0)
END
ok $? "what is left is valid ONNX"
done_testing

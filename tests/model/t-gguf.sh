# GGUF files as models: gguf_cases.py says what is compared, gguf_bad.py what is refused.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || skip_all "GGUF models" "no python with numpy (HONE_PYTHON)"
within "$python" -B "$top/tests/model/gguf_cases.py"
within "$python" -B "$top/tests/model/gguf_bad.py"
done_testing

# planted TOOL PROGRAM: the folder ./planted gets hone and all its tools, TOOL among them with a fault: the text (ge-dump) of the graph
# that it writes goes through the awk PROGRAM. ./planted/hone then is a hone with that fault.
planted() {
	rm -rf planted
	mkdir planted
	for tool in "$top"/bin/*; do ln -s "$tool" "planted/${tool##*/}"; done
	rm planted/hone "planted/$1"
	cp "$top/bin/hone" planted/hone
	printf '#!/usr/bin/awk -f\n%s\n' "$2" >planted/fault
	cat >"planted/$1" <<-'END'
		#!/bin/sh
		"$top/bin/${0##*/}" "$@" || exit
		for word; do [ "$before" = -o ] && out=$word; before=$word; done
		ge-dump "$out" >"$out.text" && "${0%/*}/fault" "$out.text" >"$out.planted" && ge-load -o "$out" "$out.planted"
	END
	chmod +x "planted/$1" planted/fault
}

# planted_kernels PROGRAM: ./planted/cc is a compiler before which the C of a model goes through the awk PROGRAM.
planted_kernels() {
	mkdir -p planted
	printf '#!/usr/bin/awk -f\n%s\n' "$1" >planted/fault
	cat >planted/cc <<-'END'
		#!/bin/bash
		words=("$@")
		for i in "${!words[@]}"; do
			case ${words[i]} in
			*.c) name=${words[i]%.c}.$$.c && "${0%/*}/fault" "${words[i]}" >"$name" && words[i]=$name ;;
			esac
		done
		exec gcc "${words[@]}"
	END
	chmod +x planted/cc planted/fault
}

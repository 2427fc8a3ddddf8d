#!/bin/sh
# The C compiler, for programs that are compiled again and again: CACHED_CC, with objects kept in CACHED_OBJECTS by the digest of what
# they are made of. Only for C files that include nothing but the system's headers.
# shellcheck disable=SC2086 # a compiler may be a command and its first words, as CC of make is
cc=${CACHED_CC:-gcc}
source='' object='' compiles='' next=''
for word; do
	case $next$word in
	-o*) object=${word#-o} ;;
	*) case $word in -c) compiles=1 ;; *.c) source=$word ;; esac ;;
	esac
	next=''
	[ "$word" != -o ] || next=-o
done
[ -n "$compiles" ] && [ -n "$source" ] && [ -n "$object" ] || exec $cc "$@"
options=''
for word; do
	case $word in "$source" | "$object") ;; *) options="$options $word" ;; esac
done
key=$({ echo "$cc$options"; $cc --version | head -n 1; cat -- "$source"; } | sha256sum | cut -c 1-32)
kept=$CACHED_OBJECTS/$key.o
if [ ! -e "$kept" ]; then
	$cc "$@" || exit
	cp "$object" "$kept.$$" && mv "$kept.$$" "$kept"
else
	cp "$kept" "$object"
fi

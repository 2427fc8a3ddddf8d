#!/bin/sh
# The C compiler, for programs that are compiled again and again: CACHED_CC, with objects kept in CACHED_OBJECTS by the digest of what
# they are made of. Only for C files that include nothing but the system's headers.
source='' object='' compiles='' next=''
for word; do
	case $next$word in
	-o*) object=${word#-o} ;;
	*) case $word in -c) compiles=1 ;; *.c) source=$word ;; esac ;;
	esac
	next=''
	[ "$word" != -o ] || next=-o
done
[ -n "$compiles" ] && [ -n "$source" ] && [ -n "$object" ] || exec "${CACHED_CC:-gcc}" "$@"
options=''
for word; do
	case $word in "$source" | "$object") ;; *) options="$options $word" ;; esac
done
key=$({ echo "${CACHED_CC:-gcc}$options"; "${CACHED_CC:-gcc}" --version | head -n 1; cat -- "$source"; } | sha256sum | cut -c 1-32)
kept=$CACHED_OBJECTS/$key.o
if [ ! -e "$kept" ]; then
	"${CACHED_CC:-gcc}" "$@" || exit
	cp "$object" "$kept.$$" && mv "$kept.$$" "$kept"
else
	cp "$kept" "$object"
fi

/* build error: it is not there (landlock) */
/* Is there such a file? */
#if __has_include("/etc/passwd") || __has_include("/root/.profile")
#error there it is
#else
#error it is not there
#endif

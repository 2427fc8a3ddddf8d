/* build error (landlock) */
/* The same, in words of the assembler. */
__asm__(".include \"/etc/passwd\"");

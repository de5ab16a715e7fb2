/*
 * In place of the header that programs of Csmith 2.3 include: its functions that cannot fail, and a checksum that needs no library, for
 * a host and for a GPU.
 */
#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define STATIC static
#define UNDEFINED(x) (x)
#define LOG_INDEX
#define LOG_EXEC
#define FUNC_NAME(x) (safe_##x)
#include "safe_math.h"
#undef FUNC_NAME
#define INT_BIT (sizeof(int) * CHAR_BIT)
#define _CSMITH_BITFIELD(x) (((x) > INT_BIT) ? ((x) % INT_BIT) : (x))
static uint64_t checksum = 0xcbf29ce484222325UL;
static void transparent_crc(uint64_t v, const char *name, int print) { checksum = (checksum ^ v) * 0x100000001b3UL; }
static void transparent_crc_bytes(const char *p, int n, const char *name, int print) {
  for (int i = 0; i < n; i++) transparent_crc((unsigned char)p[i], name, print);
}
#define crc32_context 0u
static void crc32_gentab(void) {}
static void platform_main_begin(void) {}
static void platform_main_end(uint32_t crc, int print) {}

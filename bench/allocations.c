// Counts the calls that ask the C library for memory, as a library that is loaded before it
// (LD_PRELOAD). The count is a word of the file named by WEIR_ALLOCATIONS, which has to be there.
// A worker of Weir is forked, is confined before it serves, and ends without a word: so the file
// is opened and mapped before the program begins, and all processes add to the same word.
// cc -O2 -shared -fPIC -o allocations.so allocations.c
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// The allocator itself. Looking it up by dlsym would allocate.
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

// The loader allocates before there is a file.
static unsigned long early;
static unsigned long *calls = &early;

__attribute__((constructor)) static void map(void) {
  const char *path = getenv("WEIR_ALLOCATIONS");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0 || ftruncate(file, sizeof *calls)) return;
  void *word = mmap(0, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (word != MAP_FAILED) calls = word;
  close(file);
}

static void count(void) { __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) { count(); return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { count(); return __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { count(); return __libc_realloc(old, size); }
void *memalign(size_t align, size_t size) { count(); return __libc_memalign(align, size); }
void *aligned_alloc(size_t align, size_t size) { count(); return __libc_memalign(align, size); }
int posix_memalign(void **given, size_t align, size_t size) {
  count();
  void *block = __libc_memalign(align, size);
  if (!block) return ENOMEM;
  *given = block;
  return 0;
}

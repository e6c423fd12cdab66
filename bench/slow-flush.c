// Loaded before the C library, it makes every flush to disk take FLUSH_MS milliseconds longer.
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_a_while(void) {
  const char *text = getenv("FLUSH_MS");
  long ms = text ? atol(text) : 0;
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

int fsync(int fd) {
  wait_a_while();
  return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  wait_a_while();
  return syscall(SYS_fdatasync, fd);
}

// Loaded before the C library, this gives a program a faulty disk. The faults are in the file
// FAULTS_FILE, which tests may write while the program runs. They affect the files whose paths end
// with FAULTS_SUFFIX, or all files if that is not set.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// faults.ts has the same, in the same order.
struct faults {
  _Atomic int64_t flush_ms;           // what a flush takes, beside what the disk takes
  _Atomic int64_t flush_failure_step; // of so many flushes one fails: 1 for all, 0 for none
  _Atomic int64_t flush_hang;         // flushes wait while this is 1
  _Atomic int64_t write_hang;         // writes wait while this is 1
  _Atomic int64_t hanging;            // how many wait now
  _Atomic int64_t write_errno;        // the error that every write gives; 0 for none
};

static struct faults none;
static struct faults *faults = &none;

__attribute__((constructor)) static void map_faults(void) {
  const char *path = getenv("FAULTS_FILE");
  int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *map = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) faults = map;
  close(fd);
}

static int is_concerned(int fd) {
  const char *suffix = getenv("FAULTS_SUFFIX");
  if (!suffix) return 1;
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  ssize_t end = strlen(suffix);
  return length >= end && memcmp(path + length - end, suffix, end) == 0;
}

static void wait_ms(int64_t ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static void wait_while(_Atomic int64_t *hang) {
  faults->hanging++;
  while (*hang) wait_ms(1);
  faults->hanging--;
}

static int is_failing(void) {
  static _Atomic int64_t flushes;
  int64_t step = faults->flush_failure_step;
  return step > 0 && ++flushes % step == 0;
}

static int flush(long call, int fd) {
  if (is_concerned(fd)) {
    if (faults->flush_ms > 0) wait_ms(faults->flush_ms);
    wait_while(&faults->flush_hang);
    if (is_failing()) {
      errno = EIO;
      return -1;
    }
  }
  return syscall(call, fd);
}

int fsync(int fd) { return flush(SYS_fsync, fd); }

int fdatasync(int fd) { return flush(SYS_fdatasync, fd); }

static int is_write_refused(int fd) {
  if (!(faults->write_hang || faults->write_errno) || !is_concerned(fd)) return 0;
  wait_while(&faults->write_hang);
  errno = faults->write_errno;
  return errno != 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  return is_write_refused(fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  return is_write_refused(fd) ? -1 : syscall(SYS_write, fd, bytes, count);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The log that the fake driver, the test hooks and the programs share: one line per event, in
 * order, appended to $INTERPOSE_TEST_LOG. "R name" = the fake driver's function ran, "H name" = a
 * test hook, "D name" = a drain, "P text" = a program. */
#ifndef SGPRS_TESTS_SHIM_INTERPOSE_FAKE_DRIVER_H_
#define SGPRS_TESTS_SHIM_INTERPOSE_FAKE_DRIVER_H_

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2), unused)) static void LogLine(const char* format, ...) {
  const char* path = getenv("INTERPOSE_TEST_LOG");
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof(line) - 1, format, arguments);
  va_end(arguments);
  if (path == NULL || length < 0) return;
  line[length++] = '\n';
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, (size_t)length) != length) abort();
  close(fd);
}

#endif /* SGPRS_TESTS_SHIM_INTERPOSE_FAKE_DRIVER_H_ */

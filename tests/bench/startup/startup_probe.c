/* SPDX-License-Identifier: Apache-2.0 */
/* startup_probe forks|threads: does that with nothing else, says how many were right, ends. What a
 * preloaded library costs a program that never uses it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 64, kChildren = 8 };

static pthread_barrier_t all_here;

static void* Run(void* right) {
  pthread_barrier_wait(&all_here);
  return right;
}

static int Threads(void) {
  pthread_t threads[kThreads];
  int right = 0;
  if (pthread_barrier_init(&all_here, NULL, kThreads) != 0) return 0;
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, Run, &right) != 0) _exit(1); /* the others wait */
  }
  for (int i = 0; i < kThreads; ++i) {
    void* result = NULL;
    if (pthread_join(threads[i], &result) == 0 && result == &right) ++right;
  }
  printf("%d threads\n", right);
  return right == kThreads;
}

static int Forks(void) {
  int right = 0;
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7)
      ++right;
  }
  printf("%d children\n", right);
  return right == kChildren;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "threads") == 0) return Threads() ? 0 : 1;
  if (argc == 2 && strcmp(argv[1], "forks") == 0) return Forks() ? 0 : 1;
  fprintf(stderr, "usage: startup_probe forks|threads\n");
  return 2;
}

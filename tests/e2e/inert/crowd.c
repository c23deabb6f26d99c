/* SPDX-License-Identifier: Apache-2.0 */
/* 64 threads that use the loader while the program forks children, and children that use it once
 * the threads are gone (glibc's loader can not be used in a child forked while other threads are in
 * it). No CUDA. Prints how many of each were right. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 64, kRounds = 20, kChildren = 20 };

static int UseLoader(void) {
  void* handle = dlopen("libm.so.6", RTLD_NOW);
  if (handle == NULL) return 0;
  double (*root)(double) = (double (*)(double))dlsym(handle, "sqrt");
  int right = root != NULL && root(49.0) == 7.0;
  right = right && dlsym(handle, "cuNothing") == NULL && dlerror() != NULL;
  right = right && dlsym(RTLD_DEFAULT, "cuInit") == NULL;
  right = right && dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == NULL;
  return dlclose(handle) == 0 && right;
}

static void* Run(void* right) {
  for (int i = 0; i < kRounds; ++i) {
    if (!UseLoader()) return NULL;
  }
  return right;
}

/* Forks a child that exits with 7 if all is right. */
static int ForkChild(int uses_loader) {
  const pid_t child = fork();
  if (child == 0) _exit(!uses_loader || UseLoader() ? 7 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

int main(void) {
  pthread_t threads[kThreads];
  int threads_right = 0, children_right = 0;
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, Run, &threads_right) != 0) return 1;
  }
  for (int i = 0; i < kChildren; ++i) children_right += ForkChild(0);
  for (int i = 0; i < kThreads; ++i) {
    void* right = NULL;
    if (pthread_join(threads[i], &right) == 0 && right != NULL) ++threads_right;
  }
  for (int i = 0; i < kChildren; ++i) children_right += ForkChild(1);
  printf("%d threads, %d children\n", threads_right, children_right);
  return threads_right == kThreads && children_right == 2 * kChildren ? 0 : 1;
}

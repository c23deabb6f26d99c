/* SPDX-License-Identifier: Apache-2.0 */
/* Built twice. The first defines Probe and asks for the next one: dlsym(RTLD_NEXT) has to start
 * after this object, whoever stands between it and the loader. */
#include <dlfcn.h>
#include <stddef.h>

int Probe(void);
int Probe(void) { return NEIGHBOUR; }

int ProbeNext(void);
int ProbeNext(void) {
  int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "Probe");
  return next != NULL ? next() : -1;
}

/* Finds a library by this object's own RUNPATH. */
int OpenByRunpath(const char* name);
int OpenByRunpath(const char* name) { return dlopen(name, RTLD_NOW) != NULL; }

/* SPDX-License-Identifier: Apache-2.0 */
/* Linked with libcuda at build time. The first call is the one named: any may come before cuInit.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int cuInit(unsigned flags);
int cuGetErrorName(int error, const char** name);
int cuGetExportTable(const void** table, const void* id);
int cuGetProcAddress_v2(const char* symbol, void** pfn, int version, uint64_t flags, int* status);
int cuCtxSynchronize(void);
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** params, void** extra);

int main(int argc, char** argv) {
  const char* name = "-";
  void* pfn = NULL;
  const void* table = NULL;
  if (argc > 1 && strcmp(argv[1], "getproc") == 0)
    cuGetProcAddress_v2("cuInit", &pfn, 12000, 0, NULL);
  if (argc > 1 && strcmp(argv[1], "table") == 0) cuGetExportTable(&table, "");
  int started = cuInit(0);
  int launched = cuLaunchKernel((void*)1, 2, 3, 4, 5, 6, 7, 8, (void*)9, (void**)10, (void**)11);
  int synchronized = cuCtxSynchronize();
  cuGetErrorName(started, &name);
  printf("%d %d %d %s\n", started, launched, synchronized, name != NULL ? name : "null");
  return 0;
}
